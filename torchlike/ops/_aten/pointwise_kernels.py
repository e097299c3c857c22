"""Kernels of aten's operators that Python has under other names: ``x & y``, casts, joins."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.ops._aten.kernels import kernel
from torchlike.tensor import Tensor

_torch, _nn = NAMESPACES[""], NAMESPACES["nn.functional"]


def _of_python(name: str, function: Callable[[Any, Any], Any]) -> None:
    @kernel(f"__{name}__")
    def apply(self: Tensor, other: Any) -> Tensor:
        return function(self, other)


for _name in ("and", "or", "xor", "lshift", "rshift"):
    _of_python(_name, getattr(operator, f"__{_name}__"))
    _of_python(f"i{_name}", getattr(operator, f"__i{_name}__"))


def _of_dtype(name: str, dtype: Any) -> None:
    @kernel(f"_cast_{name}")
    def cast(self: Tensor, non_blocking: bool = False) -> Tensor:
        return self.to(dtype)


for _name in ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
    _of_dtype(_name, dtypes.WITH_CLASSES[_name])


@kernel("_is_all_true")
def _is_all_true(self: Tensor) -> Tensor:
    return _bools("_is_all_true", self).all()


@kernel("_is_any_true")
def _is_any_true(self: Tensor) -> Tensor:
    return _bools("_is_any_true", self).any()


def _bools(name: str, given: Tensor) -> Tensor:
    """Return a tensor of bools. RuntimeError for another dtype."""
    if given.dtype is not dtypes.bool:
        raise RuntimeError(f"Expected a boolean tensor for {name}, but got {given.dtype}")
    return given


@kernel("_aminmax")
def _aminmax(self: Tensor, dim: Any = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    found = _torch["aminmax"](self, dim=dim, keepdim=keepdim)
    return found[0], found[1]


@kernel("_euclidean_dist")
def _euclidean_dist(x1: Tensor, x2: Tensor) -> Tensor:
    return _torch["cdist"](x1, x2, 2.0, "use_mm_for_euclid_dist")


@kernel("_pdist_forward")
def _pdist_forward(self: Tensor, p: float = 2) -> Tensor:
    return _torch["pdist"](self, p)


@kernel("_stack")
def _stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return _torch["stack"](tuple(tensors), dim)


@kernel("_chunk_cat")
def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    rows = []
    for t in tensors:
        size = -(-t.shape[dim] // num_chunks) * num_chunks
        padded = t.new_zeros((*t.shape[:dim], size, *t.shape[dim + 1 :]))
        padded.narrow(dim, 0, t.shape[dim]).copy_(t)
        rows.append(padded.reshape(*t.shape[:dim], num_chunks, -1))
    return _torch["cat"](rows, dim + 1)


@kernel("pad_sequence")
def _pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    longest, rest = max(t.shape[0] for t in sequences), tuple(sequences[0].shape[1:])
    rows = []
    for t in sequences:
        filled = t.new_full((longest, *rest), padding_value)
        start = longest - t.shape[0] if padding_side == "left" else 0
        filled.narrow(0, start, t.shape[0]).copy_(t)
        rows.append(filled)
    return _torch["stack"](rows, 0 if batch_first else 1)


@kernel("_weight_norm")
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    return _weight_norm_interface(v, g, dim)[0]


@kernel("_weight_norm_interface")
def _weight_norm_interface(v: Tensor, g: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
    dims = tuple(d for d in range(v.dim()) if dim < 0 or d != dim)
    norms = NAMESPACES["linalg"]["vector_norm"](v, 2, dims, True)
    return v * (g / norms), norms


@kernel("_native_batch_norm_legit_functional")
def _native_batch_norm_legit_functional(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    mean, var = running_mean.clone(), running_var.clone()
    found = _torch["native_batch_norm"](input, weight, bias, mean, var, training, momentum, eps)
    return (*found, mean, var)


@kernel("_native_batch_norm_legit_no_training")
def _native_batch_norm_legit_no_training(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> Any:
    return _torch["native_batch_norm"](
        input, weight, bias, running_mean, running_var, False, momentum, eps
    )


@kernel("_linalg_eigh")
def _linalg_eigh(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> tuple[Tensor, Tensor]:
    if not compute_v:
        return NAMESPACES["linalg"]["eigvalsh"](A, UPLO), A.new_empty(0)
    found = NAMESPACES["linalg"]["eigh"](A, UPLO)
    return found[0], found[1]


@kernel("_conj_copy")
def _conj_copy(self: Tensor) -> Tensor:
    return _torch["resolve_conj"](self.conj()).clone()


@kernel("_neg_view_copy")
def _neg_view_copy(self: Tensor) -> Tensor:
    return -self


@kernel("_reshape_copy", "_reshape_alias_copy")
def _reshape_copy(self: Tensor, size: Any, stride: Any = None) -> Tensor:
    return self.reshape(tuple(size)).clone()


@kernel("numpy_T")
def _numpy_T(self: Tensor) -> Tensor:
    return self.permute(tuple(range(self.dim()))[::-1])


@kernel("matrix_H")
def _matrix_H(self: Tensor) -> Tensor:
    return self.H


@kernel("normal_functional")
def _normal_functional(
    self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None
) -> Tensor:
    return self.clone().normal_(mean, std, generator=generator)


@kernel("_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    return _torch["embedding_bag"](
        weight,
        indices,
        offsets,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        None if padding_idx < 0 else padding_idx,
    )


@kernel("log_sigmoid")
def _log_sigmoid(self: Tensor) -> Tensor:
    return _nn["logsigmoid"](self)


@kernel("nll_loss_nd")
def _nll_loss_nd(
    self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1, ignore_index: int = -100
) -> Tensor:
    return _nn["nll_loss"](
        self,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=("none", "mean", "sum")[reduction],
    )


@kernel("multilabel_margin_loss_forward")
def _multilabel_margin_loss_forward(
    self: Tensor, target: Tensor, reduction: int
) -> tuple[Tensor, Tensor]:
    loss = _nn["multilabel_margin_loss"](self, target, reduction=("none", "mean", "sum")[reduction])
    named = (target >= 0).to(dtypes.int64).cumprod(-1).bool()  # up to the first -1
    marked = _torch["zeros_like"](self)
    marked.scatter_add_(-1, target.clamp(min=0), named.to(self.dtype))
    return loss, (marked > 0).to(self.dtype)


def _kept(self: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int) -> Tensor:
    """Return whether each level is in the range of levels: where gradients pass."""
    level = (self * (1 / scale)).round() + zero_point
    return (level >= low) & (level <= high)


@kernel("fake_quantize_per_tensor_affine_cachemask")
def _fake_quantize_tensor(
    self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> tuple[Tensor, Tensor]:
    out = _torch["fake_quantize_per_tensor_affine"](self, scale, zero_point, quant_min, quant_max)
    of_all = self.new_full((), scale, dtype=dtypes.float32)
    return out, _kept(self, of_all, self.new_full((), zero_point), quant_min, quant_max)


@kernel("fake_quantize_per_channel_affine_cachemask")
def _fake_quantize_channels(
    self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> tuple[Tensor, Tensor]:
    out = _torch["fake_quantize_per_channel_affine"](
        self, scale, zero_point, axis, quant_min, quant_max
    )
    size = [-1 if d == axis else 1 for d in range(self.dim())]
    return out, _kept(self, scale.reshape(size), zero_point.reshape(size), quant_min, quant_max)
