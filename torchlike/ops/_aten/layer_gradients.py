"""Kernels of the backward passes of pooling, padding, resampling, norms, losses and indexing: the
vjp of the forward operator, as in ``gradient_kernels.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.ops._aten.gradient_kernels import REDUCTIONS, vjp
from torchlike.ops._aten.kernels import KERNELS, kernel
from torchlike.tensor import Tensor

_torch, _nn = NAMESPACES[""], NAMESPACES["nn.functional"]


def _whole(name: str) -> Callable[..., Any]:
    """Return the kernel, or the registered function, of a forward operator."""
    found = KERNELS.get(name) or NAMESPACES["aten"].get(name)
    return found if found is not None else _torch[name]


# -- pooling ---------------------------------------------------------------------------------------


def _of_average(n: int) -> None:
    @kernel(f"avg_pool{n}d_backward")
    def backward(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: Any,
    ) -> Tensor:
        steps = tuple(stride) if stride else None
        return vjp(
            lambda x: _nn[f"avg_pool{n}d"](
                x,
                tuple(kernel_size),
                steps,
                tuple(padding),
                ceil_mode,
                count_include_pad,
                divisor_override,
            ),
            [self],
            [grad_output],
        )[0]


def _of_maximum(n: int) -> None:
    """Register the gradient of a max pool, which goes where the greatest elements were:
    ``indices``, in each plane."""

    @kernel(f"max_pool{n}d_with_indices_backward", f"adaptive_max_pool{n}d_backward")
    def backward(grad_output: Tensor, self: Tensor, *rest: Any, **named: Any) -> Tensor:
        indices = named["indices"] if "indices" in named else rest[-1]
        planes = self.dim() - n
        flat = self.new_zeros(self.shape).flatten(planes)
        return flat.scatter_add(-1, indices.flatten(planes), grad_output.flatten(planes)).reshape(
            self.shape
        )


for _n in (2, 3):
    _of_average(_n)
    _of_maximum(_n)


@kernel("_adaptive_avg_pool3d_backward")
def _adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    size = tuple(grad_output.shape[-3:])
    return vjp(lambda x: _nn["adaptive_avg_pool3d"](x, size), [self], [grad_output])[0]


# -- padding and resampling ------------------------------------------------------------------------


def _of_padding(name: str) -> None:
    forward = KERNELS[name]

    @kernel(f"{name}_backward")
    def backward(grad_output: Tensor, self: Tensor, padding: Any) -> Tensor:
        return vjp(lambda x: forward(x, padding), [self], [grad_output])[0]


def _of_resampling(name: str) -> None:
    forward = _whole(name)

    @kernel(f"{name}_backward")
    def backward(
        grad_output: Tensor, output_size: Any, input_size: Any, *rest: Any, **named: Any
    ) -> Tensor:
        given = grad_output.new_zeros(tuple(input_size))
        return vjp(
            lambda x: forward(x, tuple(output_size), *rest, *named.values()), [given], [grad_output]
        )[0]


for _n in (1, 2, 3):
    _of_padding(f"reflection_pad{_n}d")
    _of_padding(f"replication_pad{_n}d")
    _of_resampling(f"upsample_nearest{_n}d")
    _of_resampling(f"_upsample_nearest_exact{_n}d")
for _name in (
    "upsample_linear1d",
    "upsample_bilinear2d",
    "upsample_bicubic2d",
    "upsample_trilinear3d",
    "_upsample_bilinear2d_aa",
    "_upsample_bicubic2d_aa",
):
    _of_resampling(_name)


def _of_grid(n: int) -> None:
    forward = _whole(f"grid_sampler_{n}d")

    @kernel(f"grid_sampler_{n}d_backward")
    def backward(
        grad_output: Tensor,
        input: Tensor,
        grid: Tensor,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
        output_mask: Sequence[bool],
    ) -> tuple[Any, ...]:
        return tuple(
            vjp(
                lambda x, g: forward(x, g, interpolation_mode, padding_mode, align_corners),
                [input, grid],
                [grad_output],
                output_mask,
            )
        )


_of_grid(2)
_of_grid(3)


# -- normalisation and losses ----------------------------------------------------------------------


@kernel("native_group_norm_backward")
def _native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> tuple[Any, ...]:
    # The variance is that of the input, whatever eps was: of rstd, which knows it.
    def forward(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        rows = x.reshape(N, group, -1)
        variance = rows.var(-1, unbiased=False, keepdim=True)
        eps = 1 / rstd.detach().reshape(N, group, 1) ** 2 - variance.detach()
        normed = (rows - rows.mean(-1, keepdim=True)) * _torch["rsqrt"](variance + eps)
        return normed.reshape(N, C, HxW) * w[:, None] + b[:, None]

    ones = input.new_ones(C) if weight is None else weight
    found = vjp(
        forward,
        [input, ones, _torch["zeros_like"](ones)],
        [grad_out.reshape(N, C, HxW)],
        output_mask,
    )
    return tuple(found)


def _of_margin(name: str) -> None:
    @kernel(f"{name}_backward")
    def backward(
        grad_output: Tensor, self: Tensor, target: Tensor, *rest: Any, **named: Any
    ) -> Any:
        if name == "multilabel_margin_loss":
            return vjp(
                lambda x: _nn[name](x, target, reduction=REDUCTIONS[rest[0]]), [self], [grad_output]
            )[0]
        order = ("p", "margin", "weight", "reduction")
        given = {"weight": None, "reduction": 1, **dict(zip(order, rest, strict=False)), **named}
        given["reduction"] = REDUCTIONS[given["reduction"]]
        return vjp(lambda x: _nn[name](x, target, **given), [self], [grad_output])[0]


_of_margin("multi_margin_loss")
_of_margin("multilabel_margin_loss")


@kernel("log_sigmoid_backward")
def _log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    return vjp(_nn["logsigmoid"], [self], [grad_output])[0]


@kernel("rrelu_with_noise_backward")
def _rrelu_with_noise_backward(
    grad_output: Tensor,
    self: Tensor,
    noise: Tensor,
    lower: float,
    upper: float,
    training: bool,
    self_is_result: bool,
) -> Tensor:
    if training and upper - lower > 1e-6:
        return grad_output * noise
    slope = (lower + upper) / 2
    return grad_output * _torch["where"](self > 0, 1.0, slope)


@kernel("glu_jvp")
def _glu_jvp(glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
    half = x.shape[dim] // 2
    gate = _torch["sigmoid"](x.narrow(dim, half, half))
    da, db = dx.narrow(dim, 0, half), dx.narrow(dim, half, half)
    return gate * da + glu * (1 - gate) * db


# -- layers of matrices ----------------------------------------------------------------------------


@kernel("linear_backward")
def _linear_backward(
    self: Tensor, grad_output: Tensor, weight: Tensor, output_mask: Sequence[bool]
) -> tuple[Any, ...]:
    bias = weight.new_zeros(weight.shape[0])
    return tuple(
        vjp(
            lambda x, w, b: _nn["linear"](x, w, b), [self, weight, bias], [grad_output], output_mask
        )
    )


@kernel("embedding_backward")
def _embedding_backward(
    grad: Tensor,
    indices: Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Tensor:
    if sparse:
        raise NotImplementedError("aten.embedding_backward with sparse=True: use sparse=False")
    return KERNELS["embedding_dense_backward"](
        grad, indices, num_weights, padding_idx, scale_grad_by_freq
    )


# -- indexing and scans ----------------------------------------------------------------------------


@kernel("index_select_backward")
def _index_select_backward(grad: Tensor, self_sizes: Any, dim: int, index: Tensor) -> Tensor:
    return grad.new_zeros(tuple(self_sizes)).index_add(dim, index, grad)


@kernel("gather_backward")
def _gather_backward(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, sparse_grad: bool
) -> Tensor:
    return grad.new_zeros(self.shape).scatter_add(dim, index, grad)


@kernel("masked_select_backward")
def _masked_select_backward(grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
    return vjp(lambda x: _torch["masked_select"](x, mask), [input], [grad])[0]


@kernel("masked_scatter_backward")
def _masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Any) -> Tensor:
    taken = grad_output.masked_select(mask)
    whole = grad_output.new_zeros(tuple(sizes)).flatten()
    whole[: taken.numel()] = taken
    return whole.reshape(tuple(sizes))


@kernel("value_selecting_reduction_backward")
def _value_selecting_reduction_backward(
    grad: Tensor, dim: int, indices: Tensor, sizes: Any, keepdim: bool
) -> Tensor:
    if not keepdim and sizes:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(tuple(sizes)).scatter(dim, indices, grad)


@kernel("unfold_backward")
def _unfold_backward(grad_in: Tensor, input_sizes: Any, dim: int, size: int, step: int) -> Tensor:
    given = grad_in.new_zeros(tuple(input_sizes))
    return vjp(lambda x: x.unfold(dim, size, step), [given], [grad_in])[0]


@kernel("diagonal_backward")
def _diagonal_backward(
    grad_output: Tensor, input_sizes: Any, offset: int, dim1: int, dim2: int
) -> Tensor:
    whole = grad_output.new_zeros(tuple(input_sizes))
    return _torch["diagonal_scatter"](whole, grad_output, offset, dim1, dim2)


@kernel("trace_backward")
def _trace_backward(grad: Tensor, sizes: Any) -> Tensor:
    return _torch["eye"](*sizes, dtype=grad.dtype, device=grad.device) * grad


@kernel("cumprod_backward")
def _cumprod_backward(grad: Tensor, input: Tensor, dim: int, output: Tensor) -> Tensor:
    return vjp(lambda x: _torch["cumprod"](x, dim), [input], [grad])[0]


@kernel("_cdist_backward")
def _cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    return vjp(lambda a: _torch["cdist"](a, x2, p), [x1], [grad])[0]
