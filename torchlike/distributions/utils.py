"""What distributions share: broadcasting, logits and probabilities, lazy attributes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from torchlike._core import modes
from torchlike._core.dtypes import finfo, get_default_dtype
from torchlike._ops import functions as f
from torchlike.autograd.grad_mode import enable_grad
from torchlike.tensor import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060
NUMBERS = (int, float, bool)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast numbers and tensors to tensors of one shape; numbers take the tensors' dtype and
    device.

    ValueError for anything else.
    """
    if not all(isinstance(v, NUMBERS) or _is_tensor_like(v) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    options: dict[str, Any] = (
        {"dtype": get_default_dtype()}
        if first is None
        else {"dtype": first.dtype, "device": first.device}
    )
    tensors = [v if _is_tensor_like(v) else f.tensor(v, **options) for v in values]
    if all(t.shape == tensors[0].shape for t in tensors):
        return tuple(tensors)  # themselves, not views of them
    return f.broadcast_tensors(*tensors)


def _is_tensor_like(value: Any) -> bool:
    """Return whether a value is a tensor, or its class defines ``__torch_function__``."""
    return isinstance(value, Tensor) or hasattr(value, "__torch_function__")


def taken(path: str, doc: str) -> Any:
    """Return a property that reads a part's attribute: ``taken("base_dist.loc", "The
    median.")``."""
    return property(operator.attrgetter(path), doc=doc)


def standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Draw from the standard normal distribution."""
    return f.empty(shape, dtype=dtype, device=device).normal_()


def sum_rightmost(value: Any, dim: int) -> Tensor:
    """Return the sum over the last ``dim`` dimensions."""
    if dim == 0:
        return value
    return value.reshape(*value.shape[:-dim], -1).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities away from 0 and 1 by the dtype's epsilon."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Convert logits to probabilities: by the logistic function, or softmax."""
    return f.sigmoid(logits) if is_binary else f.nn_functional.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Convert probabilities to logits (log-probabilities, unless binary)."""
    clamped = clamp_probs(probs)
    return f.log(clamped) - f.log1p(-clamped) if is_binary else f.log(clamped)


def binary_cross_entropy(logits: Tensor, value: Tensor) -> Tensor:
    """Compute the binary cross entropy elementwise, from logits."""
    return f.nn_functional.binary_cross_entropy_with_logits(logits, value, reduction="none")


_standard_normal, _sum_rightmost = standard_normal, sum_rightmost  # PyTorch's names for them


class lazy_property:
    """A property computed at its first use and kept.

    While a function is captured nothing is kept: the value would belong to that program.
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        if not modes.is_capturing():
            setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a class shows for a lazy property: a property, so that documentation sees one."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements on and below a diagonal, (…, n, n) to (…, number of them)."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside valid range [{-n}, {n - 1}].")
    rows, columns = f.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Build a lower triangular matrix: the inverse of ``tril_matrix_to_vec``."""
    root = (1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)
    n = (-(1 + 2 * diag) + root**0.5) / 2
    if round(n) - n > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed "
            "as the lower triangular part of a square D x D matrix."
        )
    n = round(n)
    mat = vec.new_zeros(*vec.shape[:-1], n, n)
    rows, columns = f.tril_indices(n, n, diag)
    mat[..., rows, columns] = vec
    return mat
