"""Which whole operator a public function calls, where its arguments are not the operator's own.

The rules of ``torch.nn.functional`` mostly: what PyTorch's Python functions do before they call the
compiled core. Functions that pass their arguments on as they are need none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import devices, dtypes, modes
from torchlike._core.layouts import contiguous_format, strided
from torchlike._extensions.overrides import python_signatures
from torchlike._ops.aten.custom import OpOverload
from torchlike.ops._aten.composites import conversions, indexing, layers, losses, shapes
from torchlike.ops._aten.handlers import COMPOSITES
from torchlike.ops._aten.packets import aten, overload_for
from torchlike.ops._aten.pre_dispatch import whole
from torchlike.tensor import Tensor


def _call(packet: Any, *args: Any, **kwargs: Any) -> Any:
    """Call the overload of a packet that fits, defaults left out from the right."""
    overload = packet if isinstance(packet, OpOverload) else overload_for(packet, args, kwargs)
    values = list(args)
    defaults = [
        None if a.required else (a.default,)
        for a in overload._schema.arguments
        if not a.keyword_only
    ]
    while values and _is_default(values[-1], defaults[len(values) - 1]):
        values.pop()
    return overload(*values, **kwargs)


def _is_default(value: Any, default: Any) -> bool:
    """Return whether a value is a default, of the same type: the dispatcher tells 1 from 1.0."""
    return default is not None and type(value) is type(default[0]) and value == default[0]


# -- activations and dropout -----------------------------------------------------------------------


def _in_place_by_flag(name: str) -> None:
    packets = getattr(aten, name), getattr(aten, f"{name}_")

    @whole(f"F.{name}")
    def act(input: Tensor, inplace: bool = False) -> Tensor:
        return packets[bool(inplace)].default(input)


for _name in ("relu6", "selu"):
    _in_place_by_flag(_name)


def _softmax(name: str) -> None:
    @whole(f"F.{name}")
    def softmax(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
        at = layers.softmax_dim(input) if dim is None else dim
        return _call(getattr(aten, name), input, at, dtype)


for _name in ("softmax", "log_softmax"):
    _softmax(_name)


@whole("F.softmin")
def softmin(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Apply ``softmax`` to the negative."""
    at = layers.softmax_dim(input) if dim is None else dim
    return _call(aten.softmax, aten.neg.default(input), at, dtype)


def _dropout(name: str, operator: str) -> None:
    packets = getattr(aten, operator), getattr(aten, f"{operator}_")

    @whole(name)
    def drop(input: Tensor, p: float = 0.5, training: Any = None, inplace: bool = False) -> Tensor:
        if p < 0.0 or p > 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        trains = name == "F.dropout" if training is None else training
        return packets[bool(inplace)].default(input, p, bool(trains))


_dropout("F.dropout", "dropout")
for _name in ("dropout1d", "dropout2d", "dropout3d"):
    _dropout(f"F.{_name}", "feature_dropout")
for _name in ("alpha_dropout", "feature_alpha_dropout"):
    _dropout(f"F.{_name}", _name)


# -- normalisations --------------------------------------------------------------------------------


def _cudnn() -> bool:
    """Return the value of PyTorch's ``cudnn_enable`` argument: torch.export turns it off."""
    return not modes.current.exporting


@whole("F.layer_norm")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last dimensions."""
    return _call(aten.layer_norm, input, list(normalized_shape), weight, bias, eps, _cudnn())


@whole("F.group_norm")
def group_norm(
    input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """Normalise over groups of channels."""
    return _call(aten.group_norm, input, num_groups, weight, bias, eps, _cudnn())


@whole("F.batch_norm")
def batch_norm(
    input: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: Any = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise by the statistics of the batch, or by the running ones."""
    return aten.batch_norm.default(
        input, weight, bias, running_mean, running_var, bool(training), momentum, eps, _cudnn()
    )


@whole("F.instance_norm")
def instance_norm(
    input: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: Any = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each example."""
    return aten.instance_norm.default(
        input,
        weight,
        bias,
        running_mean,
        running_var,
        bool(use_input_stats),
        momentum,
        eps,
        _cudnn(),
    )


# -- pools, tables, resampling ---------------------------------------------------------------------


def _max_pool(n: int) -> None:
    packets = getattr(aten, f"max_pool{n}d"), getattr(aten, f"max_pool{n}d_with_indices")

    @whole(f"F.max_pool{n}d", f"F.max_pool{n}d_with_indices")
    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: Any = False,
        return_indices: Any = False,
    ) -> Any:
        given = [
            layers.listed(kernel_size, n),
            [] if stride in (None, []) else layers.listed(stride, n),
            layers.listed(padding, n),
            layers.listed(dilation, n),
            bool(ceil_mode),
        ]
        defaults: list[Any] = [None, [], [0] * n, [1] * n, False]
        while given[-1] == defaults[len(given) - 1]:
            given.pop()
        return packets[bool(return_indices)].default(input, *given)


for _n in (1, 2, 3):
    _max_pool(_n)


def _adaptive(name: str, n: int, places: bool) -> None:
    packet = getattr(aten, name)

    @whole(f"F.{name}", f"F.{name}_with_indices")
    def pool(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
        sizes = output_size if isinstance(output_size, (tuple, list)) else [output_size] * n
        filled = [
            s if s is not None else have for s, have in zip(sizes, input.shape[-n:], strict=True)
        ]
        found = packet.default(input, filled)
        return found[0] if places and not return_indices else found


for _n in (1, 2, 3):
    _adaptive(f"adaptive_avg_pool{_n}d", _n, False)
    _adaptive(f"adaptive_max_pool{_n}d", _n, True)


@whole("F.embedding")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: Any = False,
    sparse: Any = False,
) -> Tensor:
    """Return the rows of a table at indices."""
    return layers.embedding(
        input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
    )


@whole("F.pad")
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Tensor:
    """Pad the ends of dimensions."""
    return _call(
        aten.pad, input, shapes.ints((pad,)), mode, None if value is None else float(value)
    )


@whole("F.embedding_bag")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: Any = None,
) -> Tensor:
    """Return the sums, means or maxima of rows of a table."""
    if input.dim() == 2:
        n, width = input.shape
        offsets = aten.arange.start_step(
            0, n * width, width, dtype=input.dtype, device=input.device, pin_memory=False
        )
        input = aten.reshape.default(input, [-1])
        if per_sample_weights is not None:
            per_sample_weights = aten.reshape.default(per_sample_weights, [-1])
    how = {"sum": 0, "mean": 1, "max": 2}[mode]
    return aten.embedding_bag.padding_idx(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        how,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


#: Modes of ``interpolate``: the operator by the number of spatial dimensions.
_RESAMPLED = {
    "nearest": ("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
    "nearest-exact": (
        "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d",
        "_upsample_nearest_exact3d",
    ),
    "linear": ("upsample_linear1d", None, None),
    "bilinear": (None, "upsample_bilinear2d", None),
    "bicubic": (None, "upsample_bicubic2d", None),
    "trilinear": (None, None, "upsample_trilinear3d"),
}


@whole("F.interpolate", "F.upsample")
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: bool = False,
) -> Tensor:
    """Resample to a size or by a factor."""
    n = input.dim() - 2
    name = _RESAMPLED[mode][n - 1] if mode in _RESAMPLED and n in (1, 2, 3) else None
    if name is None or recompute_scale_factor:
        return layers.interpolate(
            input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
        )
    sizes = None if size is None else layers.listed(size, n)
    factors = None
    if scale_factor is not None:
        several = isinstance(scale_factor, (tuple, list))
        factors = [float(f) for f in (scale_factor if several else [scale_factor] * n)]
    packet = getattr(aten, f"_{name}_aa" if antialias else name)
    corners = [] if mode.startswith("nearest") else [bool(align_corners)]
    return packet.vec(input, sizes, *corners, factors)


@whole("F.grid_sample")
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: Any = None,
) -> Tensor:
    """Return the values at positions between elements."""
    how = {"bilinear": 0, "nearest": 1, "bicubic": 2}[mode]
    beyond = {"zeros": 0, "border": 1, "reflection": 2}[padding_mode]
    return aten.grid_sampler.default(input, grid, how, beyond, bool(align_corners))


@whole("F.affine_grid")
def affine_grid(theta: Tensor, size: Any, align_corners: Any = None) -> Tensor:
    """Return the positions that an affine map reads."""
    return aten.affine_grid_generator.default(theta, list(size), bool(align_corners))


# -- losses ----------------------------------------------------------------------------------------


def _reducing(name: str, operator: str, *options: Any, broadcasts: bool = False) -> None:
    """Register ``F.name(input, target, options…, reduction)``; ``options`` are parameters' names
    and defaults, in the order of the operator's, where "reduction" marks its place."""
    names, defaults = options[::2], options[1::2]
    packet = getattr(aten, operator)
    positional = python_signatures.form_of("nn.functional", name).names[2:]

    @whole(f"F.{name}")
    def loss(
        input: Tensor, target: Tensor, *args: Any, reduction: Any = "mean", **kwargs: Any
    ) -> Tensor:
        given = dict(zip(positional, args, strict=False)) | kwargs
        given.setdefault("reduction", reduction)
        given["reduction"] = losses.reduction_number(given["reduction"])
        if broadcasts:
            input, target = aten.broadcast_tensors.default([input, target])
        values = [given.get(n, d) for n, d in zip(names, defaults, strict=True)]
        return _call(packet, input, target, *values)


for _name in ("mse_loss", "l1_loss"):
    _reducing(_name, _name, "reduction", 1, broadcasts=True)
_reducing("smooth_l1_loss", "smooth_l1_loss", "reduction", 1, "beta", 1.0, broadcasts=True)
_reducing("huber_loss", "huber_loss", "reduction", 1, "delta", 1.0, broadcasts=True)
for _name in ("soft_margin_loss", "multilabel_margin_loss"):
    _reducing(_name, _name, "reduction", 1)
_reducing("hinge_embedding_loss", "hinge_embedding_loss", "margin", 1.0, "reduction", 1)
_reducing("binary_cross_entropy", "binary_cross_entropy", "weight", None, "reduction", 1)
_reducing(
    "binary_cross_entropy_with_logits",
    "binary_cross_entropy_with_logits",
    "weight",
    None,
    "pos_weight",
    None,
    "reduction",
    1,
)
_reducing("nll_loss", "nll_loss_nd", "weight", None, "reduction", 1, "ignore_index", -100)
_reducing(
    "cross_entropy",
    "cross_entropy_loss",
    "weight",
    None,
    "reduction",
    1,
    "ignore_index",
    -100,
    "label_smoothing",
    0.0,
)
_reducing(
    "poisson_nll_loss",
    "poisson_nll_loss",
    "log_input",
    True,
    "full",
    False,
    "eps",
    1e-8,
    "reduction",
    1,
)
_reducing(
    "multi_margin_loss", "multi_margin_loss", "p", 1, "margin", 1.0, "weight", None, "reduction", 1
)


@whole("F.kl_div")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: Any = "mean",
    log_target: Any = False,
) -> Tensor:
    """Return the divergence of logarithms of probabilities from a target."""
    how = 2 if reduction == "batchmean" else losses.reduction_number(reduction)
    named = {"log_target": True} if log_target else {}
    found = _call(aten.kl_div, input, target, how, **named)
    if reduction != "batchmean" or not input.dim():
        return found
    return aten.div.Tensor(found, input.shape[0])


def _of_two(name: str, *options: Any) -> None:
    """Register ``F.name(a, b, target, margin, …, reduction)`` with numbers before the reduction."""
    names, defaults = options[::2], options[1::2]
    packet = getattr(aten, name)
    positional = python_signatures.form_of("nn.functional", name).names[3:]

    @whole(f"F.{name}")
    def loss(
        first: Tensor,
        second: Tensor,
        third: Tensor,
        *args: Any,
        reduction: Any = "mean",
        **kwargs: Any,
    ) -> Tensor:
        given = {"reduction": reduction} | dict(zip(positional, args, strict=False)) | kwargs
        values = [given.get(n, d) for n, d in zip(names, defaults, strict=True)]
        values = [
            float(v) if type(d) is float else v for v, d in zip(values, defaults, strict=True)
        ]
        how = losses.reduction_number(given["reduction"])
        return _call(packet, first, second, third, *values, how)


for _name in ("cosine_embedding_loss", "margin_ranking_loss"):
    _of_two(_name, "margin", 0.0)
_of_two("triplet_margin_loss", "margin", 1.0, "p", 2.0, "eps", 1e-6, "swap", False)


# -- conversions -----------------------------------------------------------------------------------


def _noted(self: Tensor) -> None:
    """Put into the graph what a conversion takes for granted of its operand."""
    aten._assert_tensor_metadata.default(self, dtype=self.dtype, device=self.device, layout=strided)


@whole("Tensor.to")
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor with another dtype or on another device."""
    asked = conversions.asked_of_to(args, kwargs)
    _noted(self)
    flags = {k: True for k in ("non_blocking", "copy") if getattr(asked, k)}
    order = {} if asked.memory is None else {"memory_format": asked.memory}
    positional: list[Any] = [bool(asked.non_blocking), bool(asked.copy)]
    while positional and not positional[-1]:
        positional.pop()
    if asked.other is not None:
        return aten.to.other(self, asked.other, *positional, **order)
    if asked.device is None and asked.dtype is not None:
        return aten.to.dtype(self, asked.dtype, *positional, **order)
    placed = {} if asked.device is None else {"device": asked.device}
    return aten.to.dtype_layout(
        self, dtype=asked.dtype or self.dtype, layout=strided, **placed, **flags, **order
    )


def _to_dtype(name: str, dtype: Any) -> None:
    @whole(f"Tensor.{name}")
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        _noted(self)
        named = {} if memory_format is None else {"memory_format": memory_format}
        return aten.to.dtype(self, dtype, **named)


for _name, _dtype in dtypes.BY_METHOD.items():
    _to_dtype(_name, _dtype)


@whole("Tensor.cpu")
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """Move the tensor to the CPU."""
    _noted(self)
    return aten.to.dtype_layout(self, dtype=self.dtype, layout=strided, device=devices.CPU)


@whole("Tensor.type")
def type_(self: Tensor, dtype: Any = None, non_blocking: Any = False) -> Any:
    """Return the tensor with another dtype; without one, the name of its type."""
    if dtype is None:
        return conversions.type_(self)
    _noted(self)
    return aten.to.dtype(self, dtypes.from_argument(dtype))


@whole("Tensor.contiguous")
def contiguous(self: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """Return the tensor in row-major (or the asked) memory order."""
    if self.is_contiguous(memory_format=memory_format):
        return self
    named = {} if memory_format is contiguous_format else {"memory_format": memory_format}
    return aten.contiguous.default(self, **named)


@whole("tensor")
def tensor(data: Any, **options: Any) -> Tensor:
    """Make a new tensor: a constant of the graph, copied at each call."""
    wants_grad = options.pop("requires_grad", False)
    made = aten.detach_.default(conversions.tensor(data, **options))
    return made.requires_grad_() if wants_grad else made


@whole("as_tensor")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return a tensor in the dtype and on the device asked for, or make a new one of other data."""
    if not isinstance(data, Tensor):
        return tensor(data, dtype=dtype, device=device)
    _noted(data)
    place = data.device if device is None else devices.device(device)
    return aten.to.device(data, place, dtypes.from_argument(dtype) if dtype else data.dtype)


# -- several operands ------------------------------------------------------------------------------


@whole("einsum")
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Compute the sum of products that an equation describes."""
    if not isinstance(equation, str):
        equation, operands = operands[0], equation
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return aten.einsum.default(equation, list(operands))


@whole("tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Return a sum of products over dimensions of both."""
    if isinstance(dims, int):
        dims = (range(-dims, 0), range(dims))
    of_a, of_b = ([d] if isinstance(d, int) else list(d) for d in dims)
    return aten.tensordot.default(a, b, of_a, of_b)


def _spread(name: str) -> None:
    @whole(name, f"Tensor.{name}")
    def spread(
        input: Tensor,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
        out: Any = None,
        **named: Any,
    ) -> Any:
        packet = getattr(aten, name)
        if isinstance(dim, bool):
            return packet.default(input, dim, *([] if unbiased is None else [unbiased]))
        dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
        if dims is None and unbiased is not None and not keepdim:
            return packet.default(input, unbiased)
        if unbiased is not None or (dims is not None and correction is None):
            rest = [True if unbiased is None else unbiased, bool(keepdim)]
            return _call(packet.dim, input, dims, *rest)
        named = {} if correction is None else {"correction": correction}
        named |= {"keepdim": True} if keepdim else {}
        return packet.correction(input, *([] if dims is None else [dims]), **named)


for _name in ("std", "var", "std_mean", "var_mean"):
    _spread(_name)


def _listed_tensors(tensors: Sequence[Any]) -> list[Tensor]:
    return (
        list(tensors[0])
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
        else (list(tensors))
    )


@whole("meshgrid")
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Return the coordinates of a grid."""
    given = _listed_tensors(tensors)
    if indexing is None:
        return tuple(aten.meshgrid.default(given))
    return tuple(aten.meshgrid.indexing(given, indexing=indexing))


def _of_tensors(name: str, operator: str, several: bool) -> None:
    packet = getattr(aten, operator)

    @whole(name)
    def call(*tensors: Any) -> Any:
        found = packet.default(_listed_tensors(tensors))
        return tuple(found) if several else found


_of_tensors("broadcast_tensors", "broadcast_tensors", True)
_of_tensors("cartesian_prod", "cartesian_prod", False)
_of_tensors("chain_matmul", "linalg_multi_dot", False)


@whole("Tensor.where")
def where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return ``self`` where a condition holds, else ``other``."""
    if isinstance(other, Tensor):
        return aten.where.self(condition, self, other)
    return aten.where.ScalarOther(condition, self, other)


# -- indices, and values that Python asks for ------------------------------------------------------

_AS_BELOW: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("Tensor.__getitem__", indexing.getitem),
    ("Tensor.__setitem__", indexing.setitem),
    ("Tensor.item", conversions.item),
    ("Tensor.__bool__", conversions.is_nonzero),
    ("Tensor.__float__", conversions.as_float),
    ("Tensor.__int__", conversions.as_int),
    ("Tensor.__index__", conversions.as_int),
    ("F.fold", layers.fold),
    ("F.normalize", layers.normalize),
    ("F.unfold", layers.unfold),
    ("Tensor.split", shapes.split),
    ("split", shapes.split),
    *(
        (name, COMPOSITES[name])
        for name in (
            "F.elu",
            "F.celu",
            "F.leaky_relu",
            "F.hardtanh",
            "F.threshold",
            "F.norm",
            "Tensor.norm",
            "F.multi_head_attention_forward",
        )
    ),
    ("norm", COMPOSITES["F.norm"]),
    ("F.logsigmoid", aten.log_sigmoid.default),
)
for _name, _rule in _AS_BELOW:
    whole(_name)(_rule)

#: Accessors by the names of their operators.
for _name, _operator in (("T", "numpy_T"), ("mT", "mT"), ("H", "matrix_H"), ("mH", "mH")):
    whole(f"Tensor.{_name}")(getattr(aten, _operator).default)
