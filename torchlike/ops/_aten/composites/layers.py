"""Activations, normalisations, convolutions and pools, down to the operators they run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torchlike._compat.symbolic import SymInt
from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.layouts import strided
from torchlike.ops._aten.composites.noise import dropped
from torchlike.ops._aten.composites.pointwise import log_softmax, softmax
from torchlike.ops._aten.composites.products import matmul
from torchlike.ops._aten.composites.shapes import ints, reshape
from torchlike.ops._aten.handlers import composite
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor


def listed(value: Any, n: int) -> list[int]:
    """Return a number for each of ``n`` dimensions."""
    if isinstance(value, (int, SymInt)):
        return [value] * n  # type: ignore[list-item]
    found = ints(value)
    return found * n if len(found) == 1 else found


def _activation(name: str, operator: str, *given: Any, trimmed: bool = False) -> None:
    """Register ``F.name(input, *given, inplace)``; ``given`` are parameters' names and defaults."""
    names, defaults = given[::2], given[1::2]

    @composite(f"F.{name}")
    def act(input: Tensor, *args: Any, inplace: Any = False, **kwargs: Any) -> Tensor:
        if len(args) > len(names):
            inplace = args[len(names)]
        values = [
            kwargs.get(n, args[i] if i < len(args) else d)
            for i, (n, d) in enumerate(zip(names, defaults, strict=True))
        ]
        while trimmed and values and values[-1] == defaults[len(values) - 1]:
            values.pop()
        packet = getattr(aten, operator + ("_" if inplace else ""))
        return packet.default(input, *values)


for _name in ("relu", "silu", "mish", "hardswish", "hardsigmoid"):
    _activation(_name, _name)
_activation("elu", "elu", "alpha", 1.0)
_activation("celu", "celu", "alpha", 1.0, trimmed=True)
_activation("leaky_relu", "leaky_relu", "negative_slope", 0.01, trimmed=True)
_activation("hardtanh", "hardtanh", "min_val", -1.0, "max_val", 1.0)
_activation("threshold", "threshold", "threshold", 0.0, "value", 0.0)


@composite("F.relu6", "relu6")
def relu6(input: Tensor, inplace: Any = False) -> Tensor:
    """Apply ``relu``, limited to at most 6."""
    return (aten.hardtanh_ if inplace else aten.hardtanh).default(input, 0, 6)


@composite("F.selu", "selu")
def selu(input: Tensor, inplace: Any = False) -> Tensor:
    """Apply the scaled exponential linear unit."""
    given = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return (aten.elu_ if inplace else aten.elu).default(input, *given)


@composite("F.softsign")
def softsign(input: Tensor) -> Tensor:
    """Return ``x / (1 + |x|)``."""
    return aten.div.Tensor(input, aten.add.Tensor(aten.abs.default(input), 1))


@composite("F.tanhshrink")
def tanhshrink(input: Tensor) -> Tensor:
    """Return ``x - tanh(x)``."""
    return aten.sub.Tensor(input, aten.tanh.default(input))


@composite("F.logsigmoid", "log_sigmoid")
def logsigmoid(input: Tensor) -> Tensor:
    """Return the logarithm of the sigmoid."""
    return aten.log_sigmoid_forward.default(input)[0]


@composite("F.prelu", "prelu")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Apply ``relu`` with a learned slope below zero."""
    if weight.dim() != input.dim():
        size = [1] * input.dim()
        if input.dim() > 1:
            size[1] = weight.numel()
        weight = reshape(weight, size)
    return aten._prelu_kernel.default(input, weight)


@composite("F.softmax")
def functional_softmax(
    input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Apply ``softmax`` along a dimension that is chosen where none is given."""
    return softmax(input, softmax_dim(input) if dim is None else dim, dtype)


@composite("F.log_softmax")
def functional_log_softmax(
    input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Apply ``log_softmax`` along a dimension that is chosen where none is given."""
    return log_softmax(input, softmax_dim(input) if dim is None else dim, dtype)


@composite("F.softmin")
def softmin(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Apply ``softmax`` to the negative."""
    return softmax(aten.neg.default(input), softmax_dim(input) if dim is None else dim, dtype)


def softmax_dim(input: Tensor) -> int:
    """Return the dimension that is taken where none is given."""
    return 0 if input.dim() in (0, 1, 3) else 1


@composite("F.normalize")
def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Tensor:
    """Divide by the norm along dimensions."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    length = aten.linalg_vector_norm.default(input, p, dims, True)
    bounded = aten.clamp_min.default(length, eps)
    return aten.div.Tensor(input, aten.expand_as.default(bounded, input))


# -- normalisations --------------------------------------------------------------------------------


@composite("layer_norm", "F.layer_norm")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: Any = True,
) -> Tensor:
    """Normalise over the last dimensions."""
    return aten.native_layer_norm.default(input, list(normalized_shape), weight, bias, eps)[0]


@composite("group_norm", "F.group_norm")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enabled: Any = True,
) -> Tensor:
    """Normalise over groups of channels."""
    n, c = input.shape[:2]
    rest = math.prod(input.shape[2:])
    return aten.native_group_norm.default(input, weight, bias, n, c, rest, num_groups, eps)[0]


@composite("rms_norm", "F.rms_norm")
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None
) -> Tensor:
    """Divide by the root of the mean square."""
    dims = [input.dim() - i for i in range(len(normalized_shape), 0, -1)]
    epsilon = dtypes.finfo(input.dtype).eps if eps is None else eps
    mean = aten.mean.dim(aten.pow.Tensor_Scalar(input, 2), dims, True)
    scaled = aten.mul.Tensor(input, aten.rsqrt.default(aten.add_.Scalar(mean, epsilon)))
    return scaled if weight is None else aten.mul.Tensor(scaled, weight)


@composite("F.batch_norm")
def functional_batch_norm(
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
    return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite("batch_norm")
def batch_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: Any,
    momentum: float,
    eps: float,
    cudnn_enabled: Any = True,
) -> Tensor:
    """Normalise by the statistics of the batch, or by the running ones."""
    aten.empty.memory_format([0], dtype=dtypes.uint8, layout=strided, device=input.device)
    return aten.native_batch_norm.default(
        input, weight, bias, running_mean, running_var, bool(training), momentum, eps
    )[0]


@composite("F.instance_norm")
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
    n, c = input.shape[:2]
    repeated = [
        None if t is None else aten.repeat.default(t, [n])
        for t in (weight, bias, running_mean, running_var)
    ]
    x = aten.view.default(input, [1, n * c, *input.shape[2:]])
    out = batch_norm(
        x, repeated[0], repeated[1], repeated[2], repeated[3], use_input_stats, momentum, eps
    )
    for running, seen in ((running_mean, repeated[2]), (running_var, repeated[3])):
        if running is not None and use_input_stats:
            aten.copy_.default(running, aten.mean.dim(aten.view.default(seen, [n, c]), [0]))
    return aten.view.default(out, list(input.shape))


# -- convolutions and pools ------------------------------------------------------------------------


def _convolution(n: int) -> None:
    @composite(f"conv{n}d", f"F.conv{n}d")
    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        widths = listed(dilation, n)
        if isinstance(padding, str):
            padding, input = _padding(padding, input, weight, widths, n)
        x = input if input.dim() == n + 2 else aten.unsqueeze.default(input, 0)
        out = aten.convolution.default(
            x, weight, bias, listed(stride, n), listed(padding, n), widths, False, [0] * n, groups
        )
        return out if x is input else aten.squeeze.dim(out, 0)

    @composite(f"conv_transpose{n}d", f"F.conv_transpose{n}d")
    def convolve_back(
        input: Tensor,
        weight: Tensor,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        x = input if input.dim() == n + 2 else aten.unsqueeze.default(input, 0)
        out = aten.convolution.default(
            x,
            weight,
            bias,
            listed(stride, n),
            listed(padding, n),
            listed(dilation, n),
            True,
            listed(output_padding, n),
            groups,
        )
        return out if x is input else aten.squeeze.dim(out, 0)


def _padding(how: str, input: Tensor, weight: Tensor, widths: list[int], n: int) -> Any:
    if how == "valid":
        return [0] * n, input
    totals = [d * (k - 1) for d, k in zip(widths, weight.shape[2:], strict=True)]
    if any(t % 2 for t in totals):
        uneven = [p for t in reversed(totals) for p in (0, t % 2)]
        input = aten.constant_pad_nd.default(input, uneven)
    return [t // 2 for t in totals], input


for _n in (1, 2, 3):
    _convolution(_n)


def _max_pool(n: int) -> None:
    @composite(f"F.max_pool{n}d", f"max_pool{n}d", f"F.max_pool{n}d_with_indices")
    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: Any = False,
        return_indices: Any = False,
    ) -> Any:
        wide = n == 1
        given = [listed(kernel_size, n)]
        given.append(
            listed(stride, n) if stride not in (None, []) else (list(given[0]) if wide else [])
        )
        given += [listed(padding, n), listed(dilation, n)]
        defaults: list[Any] = [None, [], [0] * n, [1] * n]
        if wide:
            input = aten.unsqueeze.default(input, -2)
            given = [[i, *g] for i, g in zip((1, 1, 0, 1), given, strict=True)]
            defaults = [None, None, [0, 0], [1, 1]]
        values: list[Any] = [*given, bool(ceil_mode)]
        defaults.append(False)
        while values[-1] == defaults[len(values) - 1]:
            values.pop()
        packet = aten.max_pool3d_with_indices if n == 3 else aten.max_pool2d_with_indices
        out, places = packet.default(input, *values)
        if wide:
            out, places = aten.squeeze.dim(out, -2), aten.squeeze.dim(places, -2)
        return (out, places) if return_indices else out


for _n in (1, 2, 3):
    _max_pool(_n)


@composite("F.avg_pool1d", "avg_pool1d")
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: Any = False,
    count_include_pad: Any = True,
) -> Tensor:
    """Return the means of windows."""
    size = listed(kernel_size, 1)
    steps = size if stride in (None, []) else listed(stride, 1)
    values: list[Any] = [
        [1, *size],
        [1, *steps],
        [0, *listed(padding, 1)],
        bool(ceil_mode),
        bool(count_include_pad),
    ]
    defaults: list[Any] = [None, None, [0, 0], False, True]
    while values[-1] == defaults[len(values) - 1]:
        values.pop()
    out = aten.avg_pool2d.default(aten.unsqueeze.default(input, -2), *values)
    return aten.squeeze.dim(out, -2)


@composite("F.adaptive_avg_pool2d", "adaptive_avg_pool2d")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Return the means of as many windows as asked."""
    size = listed(
        [s if s is not None else n for s, n in zip(output_size, input.shape[-2:], strict=True)]
        if isinstance(output_size, (tuple, list))
        else output_size,
        2,
    )
    if size == [1, 1]:
        return aten.mean.dim(input, [-1, -2], True)
    return aten._adaptive_avg_pool2d.default(input, size)


@composite("F.adaptive_avg_pool1d", "adaptive_avg_pool1d")
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Return the means of as many windows as asked."""
    wide = aten.unsqueeze.default(input, -2)
    return aten.squeeze.dim(adaptive_avg_pool2d(wide, [1, *listed(output_size, 1)]), -2)


@composite("F.embedding", "embedding")
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
    if not isinstance(weight, Tensor) or not input.dtype.category < 2:
        input, weight = weight, input  # torch.embedding has the table first
    place = -1 if padding_idx is None else padding_idx
    if place < -1:
        place += weight.shape[0]
    values: list[Any] = [place, scale_grad_by_freq, sparse]
    while values and values[-1] == (-1, False, False)[len(values) - 1]:
        values.pop()
    return aten.embedding.default(weight, input, *values)


@composite("F.pad", "pad")
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Tensor:
    """Pad the ends of dimensions."""
    sizes = ints(pad)
    if mode == "constant":
        return aten.constant_pad_nd.default(input, sizes, 0.0 if value is None else value)
    kind = {"reflect": "reflection", "replicate": "replication"}.get(mode)
    if kind is None:
        return aten._pad_circular.default(input, sizes)
    return getattr(aten, f"{kind}_pad{len(sizes) // 2}d").default(input, sizes)


@composite("F.interpolate")
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: Any = None,
    recompute_scale_factor: Any = None,
    antialias: Any = False,
) -> Tensor:
    """Resize images."""
    n = input.dim() - 2
    scales: list[Any] = []
    if size is None:
        factors = (
            [float(scale_factor)] * n
            if isinstance(scale_factor, (int, float))
            else [float(s) for s in scale_factor]
        )
        sizes = [
            d * int(s) if s.is_integer() else math.floor(d * s)
            for d, s in zip(input.shape[2:], factors, strict=True)
        ]
        if not recompute_scale_factor:
            scales = list(factors)
    else:
        sizes = listed(size, n)
    if mode == "area":
        return NAMESPACES["nn.functional"][f"adaptive_avg_pool{n}d"](input, sizes)
    name = {
        "nearest": f"nearest{n}d",
        "nearest-exact": f"_nearest_exact{n}d",
        "linear": "linear1d",
        "bilinear": "bilinear2d",
        "bicubic": "bicubic2d",
        "trilinear": "trilinear3d",
    }[mode]
    corners = [] if mode.startswith("nearest") else [bool(align_corners)]
    packet = "_upsample" + name if name.startswith("_") else f"upsample_{name}"
    if antialias:
        packet = f"_upsample_{name}_aa"
    return getattr(aten, packet).default(input, sizes, *corners, *scales)


@composite("F.unfold")
def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Return the sliding windows as columns."""
    given = [listed(v, 2) for v in (kernel_size, dilation, padding, stride)]
    return aten.im2col.default(input, *given)


@composite("F.fold")
def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Sum columns to an image."""
    given = [listed(v, 2) for v in (output_size, kernel_size, dilation, padding, stride)]
    return aten.col2im.default(input, *given)


@composite("scaled_dot_product_attention", "F.scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: Any = False,
    scale: Any = None,
    enable_gqa: Any = False,
) -> Tensor:
    """Compute attention."""
    plain = (
        dropout_p == 0.0
        and query.dim() == 4
        and not enable_gqa
        and (attn_mask is None or not attn_mask.requires_grad)
    )
    if plain:
        keywords: dict[str, Any] = {}
        if attn_mask is not None:
            keywords["attn_mask"] = _additive(attn_mask, query)
        if scale is not None:
            keywords["scale"] = scale
        rest: list[Any] = [0.0, True] if is_causal else []
        return aten._scaled_dot_product_flash_attention_for_cpu.default(
            query, key, value, *rest, **keywords
        )[0]
    return _attention_by_parts(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _additive(mask: Tensor, query: Tensor) -> Tensor:
    if mask.dtype is not dtypes.bool:
        return mask
    zero = aten.scalar_tensor.default(0.0, dtype=query.dtype, device=query.device)
    far = aten.scalar_tensor.default(-math.inf, dtype=query.dtype, device=query.device)
    return aten.where.self(mask, zero, far)


def _attention_by_parts(
    query: Tensor, key: Tensor, value: Tensor, mask: Any, p: float, is_causal: Any, scale: Any
) -> Tensor:
    from_scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    factor = math.sqrt(from_scale)
    q = aten.mul.Scalar(query, factor)
    k = aten.mul.Scalar(aten.transpose.int(key, -2, -1), factor)
    weights = matmul(q, k)
    if is_causal:
        rows, columns = query.shape[-2], key.shape[-2]
        ones = aten.ones.default([rows, columns], dtype=dtypes.bool, device=query.device)
        mask = aten.tril.default(ones)
    if mask is not None:
        weights = aten.add.Tensor(weights, _additive(mask, query))
    weights = softmax(weights, -1) if mask is None else aten._safe_softmax.default(weights, -1)
    if p > 0.0:
        weights = dropped(weights, p, True)
    return matmul(weights, value)
