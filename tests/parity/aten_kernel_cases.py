# ruff: noqa: E501 - one call a line
"""Calls of aten's overloads: each an expression of ``A`` (``torch.ops.aten``), ``torch``, ``t`` (a
tensor of that size) and ``i`` (one of indices below 4)."""

from __future__ import annotations

import numpy as np

BITS = """
A.__{name}__.Tensor(i(3), i(3) + 1); A.__{name}__.Scalar(i(3), 2)
A.__i{name}__.Tensor(i(3), i(3) + 1); A.__i{name}__.Scalar(i(3), 2)
"""
PADS = """
A.{name}_pad1d_backward(t(2, 3, 8), t(2, 3, 5), [1, 2])
A.{name}_pad2d_backward(t(2, 3, 8, 9), t(2, 3, 5, 6), [1, 2, 1, 2])
A.{name}_pad3d(t(2, 3, 5, 6, 7), [1, 2, 1, 2, 1, 2])
A.{name}_pad3d_backward(t(2, 3, 8, 9, 10), t(2, 3, 5, 6, 7), [1, 2, 1, 2, 1, 2])
"""
NEAREST = """
A.{name}1d(t(2, 3, 5), [8]); A.{name}1d.vec(t(2, 3, 5), None, [2.0])
A.{name}1d_backward(t(2, 3, 8), [8], [2, 3, 5]); A.{name}2d.vec(t(2, 3, 5, 6), [8, 9], None)
A.{name}2d_backward(t(2, 3, 8, 9), [8, 9], [2, 3, 5, 6])
A.{name}3d(t(2, 3, 5, 6, 7), [8, 9, 10])
A.{name}3d_backward(t(2, 3, 8, 9, 10), [8, 9, 10], [2, 3, 5, 6, 7])
"""
CORNERS = """
A.upsample_linear1d(t(2, 3, 5), [8], {name}); A.upsample_linear1d.vec(t(2, 3, 5), None, {name}, [2.0])
A.upsample_linear1d_backward(t(2, 3, 8), [8], [2, 3, 5], {name})
A.upsample_bilinear2d.vec(t(2, 3, 5, 6), None, {name}, [2.0, 2.0])
A.upsample_bilinear2d_backward(t(2, 3, 8, 9), [8, 9], [2, 3, 5, 6], {name})
A.upsample_bicubic2d(t(2, 3, 5, 6), [8, 9], {name})
A.upsample_bicubic2d_backward(t(2, 3, 8, 9), [8, 9], [2, 3, 5, 6], {name})
A.upsample_trilinear3d(t(2, 3, 5, 6, 7), [8, 9, 10], {name})
A.upsample_trilinear3d_backward(t(2, 3, 8, 9, 10), [8, 9, 10], [2, 3, 5, 6, 7], {name})
A._upsample_bilinear2d_aa_backward(t(2, 3, 8, 9), [8, 9], [2, 3, 5, 6], {name})
A._upsample_bicubic2d_aa_backward(t(2, 3, 8, 9), [8, 9], [2, 3, 5, 6], {name})
"""
OTHERS = """
A.avg_pool2d_backward(t(2, 3, 3, 3), t(2, 3, 6, 6), [2, 2], [2, 2], [0, 0], False, True, None)
A.avg_pool3d_backward(t(1, 2, 3, 3, 3), t(1, 2, 6, 6, 6), [2] * 3, [2] * 3, [0] * 3, False, True, None)
A.adaptive_max_pool2d(t(2, 3, 6, 6), [2, 2]); A.adaptive_max_pool3d(t(1, 2, 6, 6, 6), [2, 2, 2])
A.adaptive_max_pool2d_backward(t(2, 3, 2, 2), t(2, 3, 6, 6), A.adaptive_max_pool2d(t(2, 3, 6, 6), [2, 2])[1])
A.max_pool3d_with_indices_backward(t(1, 2, 2, 2, 2), t(1, 2, 4, 4, 4), [2] * 3, [2] * 3, [0] * 3, [1] * 3, False, A.max_pool3d_with_indices(t(1, 2, 4, 4, 4), [2] * 3, [2] * 3)[1])
A._adaptive_avg_pool3d_backward(t(2, 3, 2, 2, 2), t(2, 3, 5, 6, 7))
A.grid_sampler_2d_backward(t(2, 3, 4, 4), t(2, 3, 5, 5), t(2, 4, 4, 2) * 0.5, 0, 0, False, [True, True])
A.grid_sampler_3d_backward(t(1, 2, 4, 4, 4), t(1, 2, 5, 5, 5), t(1, 4, 4, 4, 3) * 0.5, 0, 0, False, [True, True])
A.native_group_norm_backward(t(2, 4, 3, 3, seed=5), t(2, 4, 3, 3), *A.native_group_norm(t(2, 4, 3, 3), t(4), t(4), 2, 4, 9, 2, 1e-5)[1:], t(4), 2, 4, 9, 2, [True, True, True])
A.multi_margin_loss_backward(torch.tensor(1.5), t(3, 4), i(3), 1, 1.0)
A.multi_margin_loss_backward(t(3), t(3, 4), i(3), 2, 1.0, None, 0)
A.multilabel_margin_loss_forward(t(2, 4), torch.tensor([[1, 2, -1, 0], [0, -1, 2, 1]]), 1)
A.log_sigmoid_backward(t(3, 4), t(3, 4, seed=2), A.log_sigmoid_forward(t(3, 4, seed=2))[1])
A.rrelu_with_noise_backward(t(3, 4), t(3, 4, seed=1), t(3, 4, seed=2), 0.1, 0.3, True, False)
A.rrelu_with_noise_backward(t(3, 4), t(3, 4, seed=1), t(3, 4, seed=2), 0.1, 0.3, False, False)
A.glu_jvp(torch.nn.functional.glu(t(3, 4), 1), t(3, 4), t(3, 4, seed=2), 1)
A.embedding_backward(t(5, 3), i(5), 6, -1, False, False); A.log_sigmoid(t(3, 4))
A.index_select_backward(t(3, 4), [5, 4], 0, i(3)); A.gather_backward(t(3, 2), t(3, 4), 1, i(3, 2), False)
A.masked_scatter_backward(t(3, 4), t(3, 4) > 0, [3, 4])
A.value_selecting_reduction_backward(t(3), 1, i(3), [3, 4], False)
A.value_selecting_reduction_backward(t(3, 1), 1, i(3, 1), [3, 4], True)
A.unfold_backward(t(3, 3, 2), [3, 4], 1, 2, 1); A.diagonal_backward(t(3), [4, 3], 0, 0, 1)
A.trace_backward(torch.tensor(2.0), [3, 4])
A.cumprod_backward(t(3, 4), t(3, 4, seed=1), 1, t(3, 4, seed=1).cumprod(1))
A._cdist_backward(t(3, 5), t(3, 4), t(5, 4), 2.0, torch.cdist(t(3, 4), t(5, 4)))
A._cast_Byte(t(3).abs() * 9); A._cast_Double(t(3)); A._cast_Half(t(3)); A._cast_Long(t(3) * 9)
A._is_all_true(t(3) > -9); A._is_any_true(t(3) > 9); A._aminmax(t(3, 4)); A._aminmax.dim(t(3, 4), 1, True)
A._addmm_activation(t(5), t(3, 4), t(4, 5)); A._addmm_activation(t(5), t(3, 4), t(4, 5), beta=2, use_gelu=True)
A._euclidean_dist(t(3, 4), t(5, 4)); A._pdist_forward(t(4, 3), 2.0); A._stack([t(3), t(3, seed=1)], 1)
A._chunk_cat([t(5, 2), t(4, 3)], 0, 2); A._chunk_cat([t(2, 5), t(2, 4)], 1, 2); A._neg_view_copy(t(3))
A._conj_copy(torch.complex(t(3), t(3, seed=1))); A._reshape_copy(t(3, 4), [4, -1])
A._reshape_alias_copy(t(3, 4), [4, 3], [3, 1]); A.numpy_T(t(3, 4)); A.matrix_H(t(3, 4))
A._unsafe_index.Tensor(t(3, 4), [None, i(2)]); A._unsafe_index_put(t(3, 4), [i(2) % 3], t(2, 4), True)
A._index_put_impl_(t(3, 4), [torch.tensor([0, 2])], t(2, 4)); A.resize_as_(t(3, 4), t(2, 2))
A.pad_sequence([t(3), t(5)], True); A.pad_sequence([t(3, 2), t(5, 2)], False, 1.0, "left")
A._pad_circular(t(2, 3, 4), [1, 2]); A._pad_enum(t(2, 3, 4), [1, 2], 0); A._pad_enum(t(2, 3, 4), [1, 2], 1)
A._pad_enum(t(2, 3, 4), [1, 2], 2); A._pad_enum(t(2, 3, 4), [1, 2], 3); A._weight_norm(t(3, 4), t(3, 1), 0)
A.fake_quantize_per_tensor_affine_cachemask(t(3, 4) * 3, 0.1, 2, -8, 7)
A.fake_quantize_per_channel_affine_cachemask(t(3, 4) * 3, t(3).abs() + 0.1, i(3).to(torch.int32), 0, -8, 7)
A._embedding_bag(t(6, 3), i(5), torch.tensor([0, 2]))[0]
A._embedding_bag_forward_only(t(6, 3), i(5), torch.tensor([0, 2]), False, 1)[0]
A._weight_norm_interface(t(3, 4), t(3, 1), 0); A._linalg_eigh(t(4, 4) + t(4, 4).t())[0]
A._native_batch_norm_legit_no_training(t(2, 3, 4), t(3), t(3), t(3), t(3).abs(), 0.1, 1e-5)
A.nll_loss_nd(t(3, 4), i(3)); torch.tensor([*A.sym_size.default(t(3, 4)), A.sym_size.int(t(3, 4), 1)])
torch.tensor([A.sym_numel(t(3, 4)), A.sym_stride.int(t(3, 4), 0), A.sym_storage_offset(t(3, 4)[1:])])
"""
LISTS = """
A._foreach_{name}.Scalar([p(3), p(2, 2)], 1.5); A._foreach_{name}.List([p(3), p(2)], [p(3, seed=3), p(2)])
A._foreach_{name}.ScalarList([p(3), p(2, 2)], [1.5, 2.0]); left(A._foreach_{name}_.Scalar, [p(3), p(2)], 1.5)
"""


def expressions(text: str, *names: str) -> list[str]:
    """The expressions of a table, once for each name."""
    found = [e.strip() for line in text.strip().splitlines() for e in line.split("; ")]
    return [e.replace("{name}", n) for n in names for e in found] if names else found


CASES = [
    *expressions(BITS, "and", "or", "xor", "lshift", "rshift"),
    *expressions(PADS, "reflection", "replication"),
    *expressions(NEAREST, "upsample_nearest", "_upsample_nearest_exact"),
    *expressions(CORNERS, "False", "True"),
    *expressions(OTHERS),
    *expressions(LISTS, "add", "sub", "mul", "div", "maximum", "pow", "clamp_min"),
    *[f"A._foreach_{n}([p(3), p(2, 2)])" for n in ("abs", "exp", "log", "neg", "sigmoid", "rsqrt")],
]


def names(library):
    """What the expressions are made of."""

    def t(*size, seed=0):
        rng = np.random.default_rng(seed + sum(size))
        return library.tensor(rng.standard_normal(size).astype(np.float32))

    def left(function, tensors, *rest):
        function(tensors, *rest)
        return tensors

    return {
        "torch": library,
        "A": library.ops.aten,
        "t": t,
        "left": left,
        "p": lambda *size, seed=0: t(*size, seed=seed).abs() + 0.5,
        "i": lambda *size: library.tensor(np.random.default_rng(sum(size)).integers(0, 4, size)),
    }
