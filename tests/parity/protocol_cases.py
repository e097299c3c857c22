"""Calls that classes and modes see: (name, call of ``t``, the library, and ``make``, which gives an
operand of the class under test)."""

import numpy as np

BINARY = (
    "add",
    "sub",
    "mul",
    "true_divide",
    "floor_divide",
    "remainder",
    "pow",
    "maximum",
    "minimum",
    "atan2",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "fmod",
    "copysign",
    "hypot",
    "logaddexp",
    "matmul",
)
UNARY = (
    "abs",
    "neg",
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "relu",
    "sum",
    "mean",
    "prod",
    "amax",
    "argmax",
    "cumsum0",
    "sort",
    "t",
    "flatten",
    "clone",
    "detach",
    "isnan",
    "floor",
    "square",
    "sign",
    "std",
    "var",
    "unique",
    "nonzero",
    "trace",
    "det",
    "triu",
    "logsumexp0",
    "softmax0",
    "squeeze",
    "unsqueeze0",
    "transpose01",
    "numel",
)
OPERATORS = {
    "x + 1": lambda x: x + 1,
    "1 + x": lambda x: 1 + x,
    "x - 1": lambda x: x - 1,
    "1 - x": lambda x: 1 - x,
    "x * 2": lambda x: x * 2,
    "2 * x": lambda x: 2 * x,
    "x / 2": lambda x: x / 2,
    "2 / x": lambda x: 2 / x,
    "x // 2": lambda x: x // 2,
    "2 // x": lambda x: 2 // x,
    "x % 2": lambda x: x % 2,
    "2 % x": lambda x: 2 % x,
    "x ** 2": lambda x: x**2,
    "2 ** x": lambda x: 2**x,
    "x @ x": lambda x: x @ x,
    "-x": lambda x: -x,
    "+x": lambda x: +x,
    "abs(x)": abs,
    "x == x": lambda x: x == x,
    "x != x": lambda x: x != x,
    "x < 1": lambda x: x < 1,
    "x <= 1": lambda x: x <= 1,
    "x > 1": lambda x: x > 1,
    "x >= 1": lambda x: x >= 1,
    "x[0]": lambda x: x[0],
    "x[0, 1:]": lambda x: x[0, 1:],
    "x[None]": lambda x: x[None],
    "len(x)": len,
    "list(x)": list,
    "bool(x[0, 0])": lambda x: bool(x[0, 0]),
    "float(x[0, 0])": lambda x: float(x[0, 0]),
    "int(x[0, 0])": lambda x: int(x[0, 0]),
    "x.__setitem__(0, 1)": lambda x: x.__setitem__(0, 1.0),
    "~(x > 1)": lambda x: ~(x > 1),
    "(x > 1) & (x < 2)": lambda x: (x > 1) & (x < 2),
    "(x > 1) | (x < 2)": lambda x: (x > 1) | (x < 2),
    "(x > 1) ^ (x < 2)": lambda x: (x > 1) ^ (x < 2),
    "1.0 in x": lambda x: 1.0 in x,
    "reversed(x)": lambda x: list(reversed(x)),
}
PROPERTIES = (
    "shape",
    "dtype",
    "device",
    "T",
    "mT",
    "ndim",
    "requires_grad",
    "grad",
    "is_leaf",
    "data",
    "is_sparse",
    "is_cuda",
    "is_meta",
    "is_quantized",
    "layout",
    "nbytes",
    "itemsize",
    "H",
    "real",
    "grad_fn",
    "output_nr",
    "retains_grad",
    "is_nested",
    "is_mkldnn",
)
METHODS = {
    "dim": (),
    "size": (),
    "stride": (),
    "numel": (),
    "tolist": (),
    "numpy": (),
    "view": (4,),
    "reshape": (4,),
    "contiguous": (),
    "is_contiguous": (),
    "permute": (1, 0),
    "expand": (3, 2, 2),
    "split": (1,),
    "chunk": (2,),
    "unbind": (),
    "max": (0,),
    "min": (0,),
    "topk": (1,),
    "norm": (),
    "double": (),
    "to": (),
    "item_of_sum": (),
    "add_": (1,),
    "mul_": (2,),
    "zero_": (),
    "fill_": (3,),
    "requires_grad_": (),
    "is_floating_point": (),
    "type_as_self": (),
    "new_zeros": (2,),
    "new_tensor": ([1.0],),
    "masked_fill": (),
    "where": (),
    "index_select": (),
    "copy_": (),
    "element_size": (),
    "storage_offset": (),
    "nelement": (),
    "repeat": (2, 1),
    "narrow": (0, 0, 1),
    "addmm": (),
    "clamp": (0, 1),
    "cumsum": (0,),
    "diagonal": (),
    "flip": (0,),
    "roll": (1,),
    "swapaxes": (0, 1),
    "type": (),
    "unfold": (0, 1, 1),
    "squeeze_": (),
    "gather": (),
    "outer": (),
}
FUNCTIONAL = {
    "relu": lambda F, x: F.relu(x),
    "gelu": lambda F, x: F.gelu(x),
    "silu": lambda F, x: F.silu(x),
    "elu": lambda F, x: F.elu(x, 0.5),
    "selu": lambda F, x: F.selu(x),
    "celu": lambda F, x: F.celu(x),
    "leaky_relu": lambda F, x: F.leaky_relu(x, 0.2),
    "hardtanh": lambda F, x: F.hardtanh(x),
    "relu6": lambda F, x: F.relu6(x),
    "mish": lambda F, x: F.mish(x),
    "glu": lambda F, x: F.glu(x),
    "softplus": lambda F, x: F.softplus(x),
    "softsign": lambda F, x: F.softsign(x),
    "tanhshrink": lambda F, x: F.tanhshrink(x),
    "hardswish": lambda F, x: F.hardswish(x),
    "hardsigmoid": lambda F, x: F.hardsigmoid(x),
    "sigmoid": lambda F, x: F.sigmoid(x),
    "tanh": lambda F, x: F.tanh(x),
    "softmax": lambda F, x: F.softmax(x, 0),
    "log_softmax": lambda F, x: F.log_softmax(x, dim=1),
    "softmin": lambda F, x: F.softmin(x, 0),
    "dropout": lambda F, x: F.dropout(x, 0.0),
    "dropout1d": lambda F, x: F.dropout1d(x, 0.0),
    "alpha_dropout": lambda F, x: F.alpha_dropout(x, 0.0),
    "linear": lambda F, x: F.linear(x, x),
    "bilinear": lambda F, x: F.bilinear(x, x, x[None]),
    "normalize": lambda F, x: F.normalize(x),
    "layer_norm": lambda F, x: F.layer_norm(x, (2,)),
    "rms_norm": lambda F, x: F.rms_norm(x, (2,)),
    "group_norm": lambda F, x: F.group_norm(x[None], 2),
    "instance_norm": lambda F, x: F.instance_norm(x[None]),
    "batch_norm": lambda F, x: F.batch_norm(x, None, None, training=True),
    "local_response_norm": lambda F, x: F.local_response_norm(x[None], 1),
    "conv1d": lambda F, x: F.conv1d(x[None], x[None]),
    "conv2d": lambda F, x: F.conv2d(x[None, None], x[None, None]),
    "conv_transpose2d": lambda F, x: F.conv_transpose2d(x[None, None], x[None, None]),
    "avg_pool1d": lambda F, x: F.avg_pool1d(x, 2),
    "avg_pool2d": lambda F, x: F.avg_pool2d(x[None], 2),
    "max_pool1d": lambda F, x: F.max_pool1d(x, 2),
    "max_pool2d": lambda F, x: F.max_pool2d(x[None], 2),
    "adaptive_avg_pool2d": lambda F, x: F.adaptive_avg_pool2d(x[None], 1),
    "adaptive_max_pool2d": lambda F, x: F.adaptive_max_pool2d(x[None], 1),
    "lp_pool1d": lambda F, x: F.lp_pool1d(x, 2.0, 2),
    "pad": lambda F, x: F.pad(x, (1, 1)),
    "interpolate": lambda F, x: F.interpolate(x[None, None], scale_factor=2),
    "pixel_shuffle": lambda F, x: F.pixel_shuffle(x.reshape(1, 4, 1, 1), 2),
    "unfold": lambda F, x: F.unfold(x[None, None], 2),
    "mse_loss": lambda F, x: F.mse_loss(x, x),
    "l1_loss": lambda F, x: F.l1_loss(x, x),
    "huber_loss": lambda F, x: F.huber_loss(x, x),
    "smooth_l1_loss": lambda F, x: F.smooth_l1_loss(x, x),
    "kl_div": lambda F, x: F.kl_div(x, x, reduction="sum"),
    "binary_cross_entropy": lambda F, x: F.binary_cross_entropy(F.sigmoid(x), F.sigmoid(x)),
    "binary_cross_entropy_with_logits": lambda F, x: F.binary_cross_entropy_with_logits(x, x),
    "cross_entropy": lambda F, x: F.cross_entropy(x, x),
    "cosine": lambda F, x: F.cosine_similarity(x, x),
    "poisson_nll_loss": lambda F, x: F.poisson_nll_loss(x, x),
    "gaussian_nll_loss": lambda F, x: F.gaussian_nll_loss(x, x, x),
    "margin_ranking_loss": lambda F, x: F.margin_ranking_loss(x, x, x),
    "triplet_margin_loss": lambda F, x: F.triplet_margin_loss(x, x, x),
    "soft_margin_loss": lambda F, x: F.soft_margin_loss(x, x),
    "pdist": lambda F, x: F.pdist(x),
    "pairwise_distance": lambda F, x: F.pairwise_distance(x, x),
    "prelu": lambda F, x: F.prelu(x, x[0]),
    "threshold": lambda F, x: F.threshold(x, 1.0, 0.0),
    "logsigmoid": lambda F, x: F.logsigmoid(x),
    "hardshrink": lambda F, x: F.hardshrink(x),
    "softshrink": lambda F, x: F.softshrink(x),
    "attention": lambda F, x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "grid": lambda F, x: F.affine_grid(
        x.reshape(1, 4)[:, :2].reshape(1, 1, 2).repeat(1, 2, 1)[:, :, [0, 1, 0]],
        (1, 1, 2, 2),
        align_corners=False,
    ),
}
TORCH = {
    "cat": lambda t, x: t.cat([x, x]),
    "stack": lambda t, x: t.stack((x, x)),
    "where": lambda t, x: t.where(x > 1, x, x),
    "einsum": lambda t, x: t.einsum("ij->i", x),
    "split": lambda t, x: t.split(x, 1),
    "chunk": lambda t, x: t.chunk(x, 2),
    "max 2": lambda t, x: t.max(x, 0),
    "norm": lambda t, x: t.norm(x),
    "meshgrid": lambda t, x: t.meshgrid(x[0], x[0], indexing="ij"),
    "broadcast_tensors": lambda t, x: t.broadcast_tensors(x, x[0]),
    "tensordot": lambda t, x: t.tensordot(x, x),
    "cdist": lambda t, x: t.cdist(x, x),
    "zeros_like": lambda t, x: t.zeros_like(x),
    "full_like": lambda t, x: t.full_like(x, 2.0),
    "atleast_3d": lambda t, x: t.atleast_3d(x),
    "block_diag": lambda t, x: t.block_diag(x, x),
    "linalg.inv": lambda t, x: t.linalg.inv(x),
    "linalg.norm": lambda t, x: t.linalg.norm(x),
    "linalg.qr": lambda t, x: t.linalg.qr(x),
    "linalg.solve": lambda t, x: t.linalg.solve(x, x),
    "linalg.det": lambda t, x: t.linalg.det(x),
    "fft.fft": lambda t, x: t.fft.fft(x),
    "fft.rfft2": lambda t, x: t.fft.rfft2(x),
    "fft.fftshift": lambda t, x: t.fft.fftshift(x),
    "special.expm1": lambda t, x: t.special.expm1(x),
    "special.erf": lambda t, x: t.special.erf(x),
    "special.logit": lambda t, x: t.special.logit(x),
    "special.i0": lambda t, x: t.special.i0(x),
    "addmm": lambda t, x: t.addmm(x, x, x, beta=2),
    "baddbmm": lambda t, x: t.baddbmm(x[None], x[None], x[None]),
    "clamp kw": lambda t, x: t.clamp(x, min=0),
    "allclose": lambda t, x: t.allclose(x, x),
    "equal": lambda t, x: t.equal(x, x),
    "is_tensor": lambda t, x: t.is_tensor(x),
    "is_floating_point": lambda t, x: t.is_floating_point(x),
    "numel": lambda t, x: t.numel(x),
    "result_type": lambda t, x: str(t.result_type(x, 1)).rpartition(".")[2],
    "add out": lambda t, x: t.add(x, x, out=t.empty(2, 2)),
    "tensor": lambda t, x: t.tensor(x.tolist()),
    "unique": lambda t, x: t.unique(x, return_counts=True),
    "multiply": lambda t, x: t.multiply(x, 2),
    "absolute": lambda t, x: t.absolute(x),
    "Tensor.add": lambda t, x: t.Tensor.add(x, 1),
    "Tensor.__add__": lambda t, x: t.Tensor.__add__(x, 1),
    "autograd.grad": lambda t, x: t.autograd.grad(
        (x.detach().requires_grad_() * 2).sum(), [t.ones(1, requires_grad=True)], allow_unused=True
    ),
}


def method_call(name):
    """The call of a method of the table, with the operands that it needs."""
    args = METHODS[name]

    def call(t, x):
        index = t.zeros(2, dtype=t.long)
        special = {
            "item_of_sum": lambda: x.sum().item(),
            "type_as_self": lambda: x.type_as(x),
            "masked_fill": lambda: x.masked_fill(x > 1, 0.0),
            "where": lambda: x.where(x > 1, x),
            "index_select": lambda: x.index_select(0, index),
            "copy_": lambda: x.copy_(t.ones(2, 2)),
            "addmm": lambda: x.addmm(x, x),
            "gather": lambda: x.gather(0, index[None]),
            "outer": lambda: x[0].outer(x[0]),
            "to": lambda: x.to(t.float64),
        }
        return special[name]() if name in special else getattr(x, name)(*args)

    return call


def unary_call(name):
    """The call of a function of one tensor; a digit at the end is its dimension."""
    base = name.rstrip("01")
    dims = tuple(int(d) for d in name[len(base) :])
    return lambda t, x: getattr(t, base)(x, *dims)


def cases():
    """(name, call) of all."""
    for name in BINARY:
        yield f"torch.{name}", lambda t, x, name=name: getattr(t, name)(x, x)
    for name in UNARY:
        yield f"torch.{name}", unary_call(name)
    for name, call in OPERATORS.items():
        yield name, lambda t, x, call=call: call(x)
    for name in PROPERTIES:
        yield f"x.{name}", lambda t, x, name=name: getattr(x, name)
    for name in METHODS:
        yield f"x.{name}()", method_call(name)
    for name, call in FUNCTIONAL.items():
        yield f"F.{name}", lambda t, x, call=call: call(t.nn.functional, x)
    for name, call in TORCH.items():
        yield f"torch {name}", call


def shown(t, value):
    """A value without what differs between the libraries: types of tensors, plain values."""
    if isinstance(value, t.Tensor):
        return type(value).__name__
    if isinstance(value, (tuple, list)):
        return [shown(t, v) for v in value]
    if isinstance(value, dict):
        return {k: shown(t, v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return "ndarray"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return (
        str(value).replace("torchlike.", "torch.")
        if "dtype" in type(value).__name__
        else (type(value).__name__)
    )


def resolved(t, func):
    """Where a function is public."""
    return t.overrides.resolve_name(func)
