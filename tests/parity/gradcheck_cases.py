"""Where gradcheck's inputs come from, for ops that no entry of op_db is named after."""

from __future__ import annotations

import functools

import numpy as np

import torchlike as torch
import torchlike.nn.attention.flex_attention
from torchlike._ops.linalg.total_norm import total_norm
from torchlike._ops.nn.attention.attention import dropped_attention_op

F = torch.nn.functional
S = torch.special
SEED = torch.tensor([3])


def _after_a_step(x, gradient):
    """A parameter after a step of Adam that is recorded."""
    parameter = x * 1
    if parameter.requires_grad:
        parameter.retain_grad()
    optimizer = torch.optim.Adam([parameter], lr=0.1, eps=0.1, differentiable=True)
    parameter.grad = gradient
    optimizer.step()
    return parameter


#: op -> the entry of op_db that runs it.
ENTRY = {
    "index": "__getitem__",
    "div_op": "div.no_rounding_mode",
    "border_pad_op": "nn.functional.pad.reflect",
    "pow_tensor": "pow",
    "lu_factor_op": "linalg.lu_factor",
    "max_dim": "max.reduction_with_dim",
    "max_all": "max.reduction_no_dim",
    "min_dim": "min.reduction_with_dim",
    "min_all": "min.reduction_no_dim",
    "median_all": "median",
    "nanmedian_all": "nanmedian",
    "var_op": "var",
    "std_op": "std",
    "maximum": "max.binary",
    "minimum": "min.binary",
    "group_norm_op": "nn.functional.group_norm",
    "moments": "native_group_norm",
    "constant_pad_op": "nn.functional.pad.constant",
    "interpolate_op": "nn.functional.interpolate.bilinear",
    "fractional_max_pool_op": "nn.functional.fractional_max_pool2d",
    "max_pool1d_with_indices": "nn.functional.max_pool1d",
    "max_pool2d_with_indices": "nn.functional.max_pool2d",
    "max_pool3d_with_indices": "nn.functional.max_pool3d",
    "max_unpool_op": "nn.functional.max_unpool1d",
    "attention_op": "nn.functional.scaled_dot_product_attention",
    "mvlgamma": "mvlgamma.mvlgamma_p_1",
    "polygamma_op": "polygamma.polygamma_n_1",
    "pinv_op": "linalg.pinv",
    "index_reduce": "index_reduce.mean",
    "scatter_src": "scatter",
    "nuclear_norm_op": "norm.nuc",
    "scatter_reduce_src": "scatter_reduce.sum",
    "svdvals_op": "linalg.svdvals",
    "inv_ex_op": "linalg.inv_ex",
    "solve_ex_op": "linalg.solve_ex",
}


def positive(rows, cols):
    """A well-conditioned positive definite matrix from any."""
    return lambda x: x @ x.mT + 2 * torch.eye(rows, dtype=torch.float64)


def symmetric(x):
    return (x + x.mT) / 2 + torch.diag(torch.arange(x.shape[-1], dtype=torch.float64))


def of_module(make, *pick):
    """A module in float64 with fixed weights, its outputs flattened."""

    def run(*x):
        torch.manual_seed(0)
        out = make().double()(*x)
        while pick and isinstance(out, tuple):
            out = out[pick[0]]
        return out

    return run


def packed(x):
    torch.manual_seed(0)
    rows = torch.nn.utils.rnn.pack_padded_sequence(x, [3, 2], batch_first=False)
    return torch.nn.LSTM(2, 2).double()(rows)[0].data


def sparse(values):
    return torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [1, 0, 2]]), values, (2, 3))


def _filled_by_mask(x, value):
    y = x * 1
    y[:, torch.tensor([True, False, True])] = value.sum()
    return y


def _in_a_box(x):
    torch.ops.load_library("torchvision/_C.so")
    box = torch.tensor([[0, 0.3, 0.4, 2.6, 3.1]], dtype=torch.float64)
    return torch.ops.torchvision.roi_align(x, box, 1.0, 2, 2, 2, True)


def eigenvalues(x):
    return torch.linalg.eigvals(symmetric(x)).real.sort()[0]


def _third(name, x):
    """The third polynomial of a family."""
    return getattr(S, name)(x, 3)


INDEX = torch.tensor([[1, 0], [0, 1]])
ONES = torch.ones(2, dtype=torch.float64)
LENGTHS = torch.tensor([2, 1])
WHOLE = torch.tensor([2, 1, 3])
HALVES = torch.full((3,), 0.5, dtype=torch.float64)

#: op -> (function, shapes of its inputs); values are distinct numbers between 0.2 and 1.2.
CODE = {
    **{
        f"{name}_op": (lambda x, y, name=name: getattr(torch, name)(x * 1.03, y), (3,), (3,))
        for name in ("floor_divide", "remainder", "fmod")
    },
    **{
        f"{name}_checked": (lambda x, name=name: getattr(torch, name)(x * 5.3, WHOLE), (3,))
        for name in ("floor_divide", "remainder", "fmod")
    },
    "_addmm_activation": (
        lambda v, a, b: torch._addmm_activation(v, a, b, beta=0.5, use_gelu=True),
        (4,),
        (2, 3),
        (3, 4),
    ),
    "div_rounded_op": (lambda x, y: torch.div(x * 1.03, y, rounding_mode="floor"), (3,), (3,)),
    "div_rounded_checked": (lambda x: torch.div(x * 5.3, WHOLE, rounding_mode="trunc"), (3,)),
    **{
        f"{name}_fill": (lambda x, fill=fill: fill(x * 1) + x, (3,))
        for name, fill in {
            "normal0": torch.Tensor.normal_,
            "uniform0": torch.Tensor.uniform_,
            "exponential0": torch.Tensor.exponential_,
            "cauchy0": torch.Tensor.cauchy_,
            "geometric0": lambda x: x.geometric_(0.5),
            "lognormal0": torch.Tensor.log_normal_,
            "bernoulli1": lambda x: x.bernoulli_(HALVES),
            "bernoulli2": lambda x: x.bernoulli_(0.5),
            "random0": lambda x: x.random_(2, 9),
            "random1": lambda x: x.random_(9),
            "random2": lambda x: x.random_() * 0,
        }.items()
    },
    "batch_norm_train": (lambda x: F.batch_norm(x, None, None, training=True), (3, 2)),
    "optimizer_step": (_after_a_step, (3,), (3,)),
    "batch_norm_eval": (lambda x: F.batch_norm(x, ONES * 0.3, ONES * 2), (3, 2)),
    "roi_align_op": (_in_a_box, (1, 1, 4, 4)),
    "im2col": (lambda x: F.unfold(x, (2, 2)), (1, 1, 3, 3)),
    "lu_unpack_op": (lambda x: torch.lu_unpack(*torch.linalg.lu_factor(x))[1:], (2, 2)),
    # The gradient by the triangle that is not looked at is a matter of convention.
    "cholesky_inverse_op": (
        lambda x: torch.cholesky_inverse(torch.linalg.cholesky(positive(2, 2)(x))),
        (2, 2),
    ),
    "cholesky_solve_op": (
        lambda b, x: torch.cholesky_solve(b, torch.linalg.cholesky(positive(2, 2)(x))),
        (2, 1),
        (2, 2),
    ),
    # As in PyTorch, its gradient is that of normalized probabilities only.
    "ctc_loss_op": (
        lambda x: F.ctc_loss(x.log_softmax(2), torch.tensor([[1, 2]]), (3,), (2,)),
        (3, 1, 3),
    ),
    "pow_scalar": (lambda x: x**2.5, (3,)),
    "number_divided": (lambda x: 2.0 / x, (3,)),
    "rsub": (lambda x: 2.0 - x, (3,)),
    "mask_put_op": (_filled_by_mask, (2, 3), (1,)),
    "neg": (lambda x: -x, (3,)),
    "reciprocal": (torch.reciprocal, (3,)),
    "tanh": (torch.tanh, (3,)),
    "cast_op": (lambda x: x.to(torch.complex128).real, (3,)),
    "zero_op": (lambda x: (x * x).zero_() + x, (3,)),
    "nanmedian_dim": (lambda x: x.nanmedian(0)[0], (3, 2)),
    "median_dim": (lambda x: x.median(0)[0], (3, 2)),
    "col2im": (lambda x: F.fold(x, (3, 3), (2, 2)), (1, 4, 4)),
    "max_pool1d_op": (lambda x: F.max_pool1d(x, 2), (1, 1, 6)),
    "max_pool2d_op": (lambda x: F.max_pool2d(x, 2), (1, 1, 2, 4)),
    "max_pool3d_op": (lambda x: F.max_pool3d(x, 2), (1, 1, 2, 2, 4)),
    "cross_entropy_probabilities": (lambda x, y: F.cross_entropy(x, y.softmax(1)), (2, 3), (2, 3)),
    **dict.fromkeys(
        ("attention_weights_op", "attend_op"),
        (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.4), *((1, 2, 2),) * 3),
    ),
    # Of accelerators, where kernels drop weights by a seed.
    "dropped_attention_op": (
        lambda q, k, v: dropped_attention_op(q, k, v, None, SEED, 0.4, False, None, False),
        *((1, 2, 2, 2),) * 3,
    ),
    "modified_attention_op": (
        lambda q, k, v: torch.nn.attention.flex_attention.flex_attention(
            q, k, v, lambda score, b, h, i, j: score * (1 + i - j)
        ),
        *((1, 1, 2, 2),) * 3,
    ),
    "apply_mask": (lambda x: F.dropout(x, 0.5, training=True), (6,)),
    "apply_noise": (lambda x: F.dropout(x, 1.0, training=True), (6,)),
    "total_norm": (lambda x, y: total_norm([x, y], 2.0), (3,), (2, 2)),
    "diff_op": (torch.diff, (4,)),
    "gradient_even": (lambda x: torch.gradient(x, spacing=0.7, edge_order=2)[0], (4,)),
    "gradient_op": (lambda x: torch.gradient(x, spacing=(HALVES.cumsum(0) ** 2,))[0], (3,)),
    "matrix_norm_op": (lambda x: torch.linalg.matrix_norm(x, 1), (2, 3)),
    "recurrent_op": (of_module(lambda: torch.nn.GRU(2, 2), 0), (2, 1, 2)),
    "recurrent_packed_op": (packed, (3, 2, 2)),
    "lstm_cell_op": (of_module(lambda: torch.nn.LSTMCell(2, 2), 1), (1, 2)),
    "gru_cell": (of_module(lambda: torch.nn.GRUCell(2, 2)), (1, 2), (1, 2)),
    "rnn_tanh_cell": (of_module(lambda: torch.nn.RNNCell(2, 2)), (1, 2), (1, 2)),
    "rnn_relu_cell": (
        of_module(lambda: torch.nn.RNNCell(2, 2, nonlinearity="relu")),
        (1, 2),
        (1, 2),
    ),
    "affine_grid_op": (lambda x: F.affine_grid(x, [1, 1, 2, 2], align_corners=False), (1, 2, 3)),
    "scatter_value": (lambda x: x.scatter(0, INDEX, 1.5), (2, 2)),
    "scatter_reduce_value": (lambda x: x.scatter(0, INDEX, 1.5, reduce="multiply"), (2, 2)),
    "repeat_interleave_sized": (
        lambda x: torch.repeat_interleave(x, LENGTHS, dim=0, output_size=3),
        (2, 2),
    ),
    "zeta": (lambda y: S.zeta(torch.tensor([2.0, 3.0], dtype=torch.float64), y), (2,)),
    "igamma": (lambda y: torch.igamma(torch.tensor([0.7, 1.4], dtype=torch.float64), y), (2,)),
    "igammac": (lambda y: torch.igammac(torch.tensor([0.7, 1.4], dtype=torch.float64), y), (2,)),
    "apply_alpha_noise": (lambda x: F.alpha_dropout(x, 0.5, training=True), (4,)),
    "segment_reduce_op": (lambda x: torch.segment_reduce(x, "sum", lengths=LENGTHS), (3,)),
    "coalesced_values": (lambda v: sparse(v).coalesce().values() ** 2, (3,)),
    "sparse_matmul": (lambda v, y: torch.sparse.mm(sparse(v), y), (3,), (3, 2)),
    "sparse_reduce_matmul": (lambda v, y: torch.sparse.mm(sparse(v), y, "mean"), (3,), (3, 2)),
    "csr_matmul": (
        lambda v, y: torch.sparse_csr_tensor([0, 1, 3], [2, 0, 1], v, (2, 3)) @ y,
        (3,),
        (3, 2),
    ),
    "grouped_softmax": (lambda v: torch.sparse.softmax(sparse(v), 1).to_dense(), (3,)),
    "sampled_product": (
        lambda v, a, b: torch.sparse.sampled_addmm(sparse(v), a, b).to_dense(),
        (3,),
        (2, 2),
        (2, 3),
    ),
    **{
        name: (getattr(S, name), (3,))
        for name in (
            "bessel_j0",
            "bessel_j1",
            "bessel_y0",
            "bessel_y1",
            "modified_bessel_i0",
            "modified_bessel_i1",
            "modified_bessel_k0",
            "modified_bessel_k1",
            "scaled_modified_bessel_k0",
            "scaled_modified_bessel_k1",
            "airy_ai",
            "spherical_bessel_j0",
        )
    },
    **{
        name: (functools.partial(_third, name), (3,))
        for name in (
            "chebyshev_polynomial_t",
            "shifted_chebyshev_polynomial_t",
            "chebyshev_polynomial_u",
            "shifted_chebyshev_polynomial_u",
            "chebyshev_polynomial_v",
            "shifted_chebyshev_polynomial_v",
            "chebyshev_polynomial_w",
            "shifted_chebyshev_polynomial_w",
            "hermite_polynomial_h",
            "hermite_polynomial_he",
            "laguerre_polynomial_l",
            "legendre_polynomial_p",
        )
    },
    # Factors of a matrix are unique up to signs or phases: what does not depend on those.
    "eigh_op": (lambda x: (lambda v, w: (v, (w * w).mT))(*torch.linalg.eigh(symmetric(x))), (2, 2)),
    "eig_op": (eigenvalues, (2, 2)),
    "svd_op": (
        lambda x: (lambda u, s, v: (s, u * u, v * v))(
            *torch.linalg.svd(symmetric(x), full_matrices=False)
        ),
        (2, 2),
    ),
    "qr_op": (lambda x: (lambda q, r: (q * q, r * r))(*torch.linalg.qr(x)), (3, 2)),
    "matrix_sqrth": (lambda x: torch.linalg.matrix_sqrth(positive(2, 2)(x)), (2, 2)),
    "cholesky_op": (lambda x: torch.linalg.cholesky(positive(2, 2)(x)), (2, 2)),
}

#: op -> why it has no gradient to check here.
NOT_ALONE = {
    "embedding_renorm_op": "runs outside autograd: its tangents are the weight's, as they were",
    "poisson_sample": "integers: its gradient is zero",
    "standard_gamma_sample": "accepts or rejects: its draws jump; op_db compares with PyTorch",
    "underived_op": "PyTorch has no derivative; autograd/test_underived.py compares the errors",
    "heaviside": "the same",
    "drawn": "a draw: PyTorch defines its gradient by its parameters as zero",
    "grouped_mm_op": "has no float64; ops/linalg/test_grouped.py compares with PyTorch",
    "fake_quantize_per_tensor_affine_op": "rounds, and passes gradients on as if it did not",
    "fake_quantize_per_channel_affine_op": "the same",
    "nextafter": "moves by the last bit: finite differences say nothing",
    "_weight_int8pack_mm": "PyTorch has no derivative; ops/test_low_bit.py has its errors",
    "_weight_int4pack_mm_for_cpu": "the same",
    "varlen_attention": "has first derivatives alone; nested/test_jagged_gradients.py has them",
}


def inputs_of(shapes):
    """Distinct numbers, the same each time, in no particular order."""
    random = np.random.default_rng(0)
    count = sum(int(np.prod(s)) for s in shapes)
    values = random.permutation(np.linspace(0.2, 1.2, count))
    made, at = [], 0
    for shape in shapes:
        n = int(np.prod(shape))
        made.append(torch.tensor(values[at : at + n].reshape(shape), requires_grad=True))
        at += n
    return made
