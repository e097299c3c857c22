"""What computes aten's operators that no public function is called like: on plain tensors.

All others are computed by the registered function of their name (see ``packets.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.tensor import Tensor

_torch, _nn = NAMESPACES[""], NAMESPACES["nn.functional"]
#: By the operator's name, with its overload after a dot where it is for that alone.
KERNELS: dict[str, Callable[..., Any]] = {}


def kernel(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that computes the operators of these names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        KERNELS.update(dict.fromkeys(names, function))
        return function

    return register


@kernel("_to_copy")
def _to_copy(
    self: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: Any = False,
    memory_format: Any = None,
) -> Any:
    keywords = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(dtype=dtype or self.dtype, device=device or self.device, copy=True, **keywords)


@kernel("_unsafe_view", "_reshape_alias")
def _unsafe_view(self: Tensor, size: Sequence[int], stride: Any = None) -> Tensor:
    return self.view(*size)


@kernel("view.dtype")
def _view_dtype(self: Tensor, dtype: Any) -> Tensor:
    return self.view(dtype)


@kernel("_local_scalar_dense")
def _local_scalar_dense(self: Tensor) -> Any:
    return self.item()


@kernel("alias")
def _alias(self: Tensor) -> Tensor:
    return self.view(*self.shape) if self.is_contiguous() else self[...]


@kernel("sym_size", "sym_size.int")
def _sym_size(self: Tensor, dim: int | None = None) -> Any:
    return self.size(dim)


@kernel("sym_stride", "sym_stride.int")
def _sym_stride(self: Tensor, dim: int | None = None) -> Any:
    return self.stride(dim)


@kernel("sym_numel")
def _sym_numel(self: Tensor) -> int:
    return self.numel()


@kernel("sym_storage_offset")
def _sym_storage_offset(self: Tensor) -> int:
    return self.storage_offset()


@kernel("lift", "lift_fresh")
def _lift(self: Tensor) -> Tensor:
    return self


@kernel("lift_fresh_copy")
def _lift_copy(self: Tensor) -> Tensor:
    return self.clone()


@kernel("slice")
def _slice(self: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    at = dim % max(self.dim(), 1)
    return self[(slice(None),) * at + (slice(start, end, step),)]


@kernel("slice_backward")
def _slice_backward(
    grad: Tensor, size: Sequence[int], dim: int, start: Any, end: Any, step: int
) -> Tensor:
    whole = grad.new_zeros(size)
    _slice(whole, dim, start, end, step).copy_(grad)
    return whole


@kernel("select_backward")
def _select_backward(grad: Tensor, size: Sequence[int], dim: int, index: int) -> Tensor:
    whole = grad.new_zeros(size)
    whole.select(dim, index).copy_(grad)
    return whole


@kernel("index", "_unsafe_index")
def _index(self: Tensor, indices: Sequence[Any]) -> Tensor:
    return self[tuple(slice(None) if i is None else i for i in indices)]


@kernel("index_put", "_unsafe_index_put")
def _index_put(self: Tensor, indices: Any, values: Tensor, accumulate: Any = False) -> Tensor:
    return _index_put_(self.clone(), indices, values, accumulate)


@kernel("index_put_", "_index_put_impl_")
def _index_put_(
    self: Tensor, indices: Any, values: Tensor, accumulate: Any = False, unsafe: Any = False
) -> Tensor:
    grid = list(indices) + [None] * (self.dim() - len(indices))
    if any(i is None for i in indices):
        places = tuple(slice(None) if i is None else i for i in grid)
        if accumulate:
            raise NotImplementedError(
                "aten.index_put_ with accumulate=True and a dimension without indices: give "
                "indices for the leading dimensions"
            )
        self[places] = values
        return self
    return self.index_put_(tuple(indices), values, accumulate=accumulate)


@kernel("fill.Scalar", "fill.Tensor", "fill")
def _fill(self: Tensor, value: Any) -> Tensor:
    return self.clone().fill_(value)


@kernel("zero")
def _zero(self: Tensor) -> Tensor:
    return self.clone().zero_()


@kernel("copy")
def _copy(self: Tensor, src: Tensor, non_blocking: Any = False) -> Tensor:
    return self.clone().copy_(src)


@kernel("_softmax")
def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return _torch["softmax"](self, dim, dtype=dtypes.float32 if half_to_float else None)


@kernel("_log_softmax")
def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return _torch["log_softmax"](self, dim, dtype=dtypes.float32 if half_to_float else None)


@kernel("convolution", "_convolution")
def _convolution(
    input: Tensor,
    weight: Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *more: Any,
) -> Tensor:
    n = input.dim() - 2
    if transposed:
        return _nn[f"conv_transpose{n}d"](
            input,
            weight,
            bias,
            tuple(stride),
            tuple(padding),
            tuple(output_padding),
            groups,
            tuple(dilation),
        )
    return _nn[f"conv{n}d"](
        input, weight, bias, tuple(stride), tuple(padding), tuple(dilation), groups
    )


@kernel("embedding")
def _embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: Any = False,
    sparse: Any = False,
) -> Tensor:
    return _nn["embedding"](indices, weight)


@kernel("_prelu_kernel")
def _prelu_kernel(self: Tensor, weight: Tensor) -> Tensor:
    return _torch["where"](self > 0, self, weight * self)


@kernel("log_sigmoid_forward")
def _log_sigmoid_forward(self: Tensor) -> tuple[Tensor, Tensor]:
    return _nn["logsigmoid"](self), self.new_empty(0)


@kernel("nll_loss_forward", "nll_loss2d_forward")
def _nll_loss_forward(
    self: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    loss = _nn["nll_loss"](
        self,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=("none", "mean", "sum")[reduction],
    )
    kept = target != ignore_index
    if weight is None:
        total = kept.sum().to(self.dtype)
    else:
        total = (weight[target.clamp(min=0)] * kept).sum()
    return loss, total if reduction else self.new_zeros(())


@kernel("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(
    self: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: Any = False,
) -> tuple[Tensor, Tensor]:
    n = len(kernel_size)
    size, steps = tuple(kernel_size), tuple(stride) if stride else None
    padding, dilation = ((v,) * n if isinstance(v, int) else tuple(v) for v in (padding, dilation))
    return _nn[f"max_pool{n}d_with_indices"](self, size, steps, padding, dilation, ceil_mode)


def _adaptive_maximum(n: int) -> None:
    @kernel(f"adaptive_max_pool{n}d")
    def pooled(self: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
        size = tuple(output_size) if isinstance(output_size, (tuple, list)) else output_size
        return _nn[f"adaptive_max_pool{n}d_with_indices"](self, size)


for _n in (1, 2, 3):
    _adaptive_maximum(_n)


@kernel("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def _adaptive_avg_pool(self: Tensor, output_size: Any) -> Tensor:
    return _nn[f"adaptive_avg_pool{len(output_size)}d"](self, tuple(output_size))


@kernel("im2col")
def _im2col(self: Tensor, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Tensor:
    return _nn["unfold"](self, tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride))


@kernel("col2im")
def _col2im(
    self: Tensor, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Tensor:
    return _nn["fold"](
        self, tuple(output_size), tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride)
    )


@kernel("_scaled_dot_product_flash_attention_for_cpu")
def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: Any = False,
    *,
    attn_mask: Any = None,
    scale: Any = None,
) -> tuple[Tensor, Tensor]:
    out = _nn["scaled_dot_product_attention"](
        query,
        key,
        value,
        attn_mask=attn_mask,
        dropout_p=dropout_p,
        is_causal=is_causal,
        scale=scale,
    )
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    weights = (query @ key.mT) * factor
    if attn_mask is not None:
        weights = weights + attn_mask
    if is_causal:
        ones = _torch["ones"](weights.shape[-2:], dtype=dtypes.bool)
        weights = weights.masked_fill(~ones.tril(), float("-inf"))
    return out, weights.logsumexp(-1)


@kernel("tensordot")
def _tensordot(self: Tensor, other: Tensor, dims_self: Any, dims_other: Any) -> Tensor:
    return _torch["tensordot"](self, other, (dims_self, dims_other))


@kernel("_linalg_check_errors")
def _linalg_check_errors(info: Tensor, api_name: str, *, is_matrix: bool) -> None:
    if not info.is_meta and bool((info != 0).any()):
        raise RuntimeError(
            f"{api_name}: The diagonal element {int(info.max())} is zero, the inversion could not "
            "be completed because the input matrix is singular."
        )


@kernel("_linalg_det")
def _linalg_det(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    found, pivots, _ = NAMESPACES["linalg"]["lu_factor_ex"](A)
    return NAMESPACES["linalg"]["det"](A), found, pivots


@kernel("_linalg_solve_ex")
def _linalg_solve_ex(
    A: Tensor, B: Tensor, *, left: Any = True, check_errors: Any = False
) -> tuple[Tensor, ...]:
    found, pivots, info = NAMESPACES["linalg"]["lu_factor_ex"](A)
    return NAMESPACES["linalg"]["solve"](A, B, left=left), found, pivots, info


@kernel("_cdist_forward")
def _cdist_forward(x1: Tensor, x2: Tensor, p: float, compute_mode: Any) -> Tensor:
    return _torch["cdist"](x1, x2, p)


@kernel("detach")
def _detach(self: Tensor) -> Tensor:
    return Tensor.detach(self)


@kernel("empty", "empty.memory_format")
def _empty(
    size: Sequence[int],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> Tensor:
    keywords = {} if memory_format is None else {"memory_format": memory_format}
    return _torch["empty"](tuple(size), dtype=dtype, device=device, **keywords)


@kernel("embedding_dense_backward")
def _embedding_dense_backward(
    grad_output: Tensor,
    indices: Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Tensor:
    width = grad_output.shape[-1]
    rows, flat = grad_output.reshape(-1, width), indices.reshape(-1)
    if scale_grad_by_freq:
        counts = _torch["bincount"](flat, minlength=num_weights)
        rows = rows / counts[flat][:, None]
    table = rows.new_zeros((num_weights, width)).index_add(0, flat, rows)
    if padding_idx >= 0:
        table[padding_idx] = 0
    return table


@kernel("threshold_backward")
def _threshold_backward(grad_output: Tensor, self: Tensor, threshold: Any) -> Tensor:
    return _torch["where"](self <= threshold, 0, grad_output)


@kernel("tanh_backward")
def _tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    return grad_output * (1 - output * output).conj()


@kernel("sigmoid_backward")
def _sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    return grad_output * ((1 - output) * output).conj()


@kernel("unfold")
def _windows(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return self.unfold(dimension, size, step)


@kernel("block_diag")
def _block_diag(tensors: Sequence[Tensor]) -> Tensor:
    return _torch["block_diag"](*tensors)


@kernel("elu")
def _elu(self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    below = (_torch["exp"](self * input_scale) - 1) * (alpha * scale)
    return _torch["where"](self > 0, self * scale, below)


@kernel("elu_")
def _elu_(self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    return self.copy_(_elu(self, alpha, scale, input_scale))
