"""Complex tensors as real ones and back: view_as_real, view_as_complex, real, imag, conj."""

from __future__ import annotations

from typing import Any

from torchlike._core import dtypes, views
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import require_tensor
from torchlike._core.views import step
from torchlike._extensions import absent_dtypes
from torchlike._ops.shape.views.view_factory import make_view
from torchlike.tensor import Tensor, add_method


@composite()
def view_as_real(input: Tensor) -> Tensor:
    """View a complex tensor as real and imaginary parts in a new last dimension of size 2."""
    require_tensor(input, "view_as_real")
    if not input.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if input._view is not None and input._view.is_conjugated:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that "
            "the resulting tensor will NOT alias the original."
        )
    return make_view(input, step(views.ViewAsReal), (), "ViewAsRealBackward0")


@composite(autocast={"cpu": "float32"})
def view_as_complex(input: Tensor) -> Tensor:
    """View a (..., 2) float tensor as complex numbers.

    RuntimeError unless it is of float32 or float64 (NotImplementedError for float16).
    """
    require_tensor(input, "view_as_complex")
    if input.dtype is dtypes.float16:
        _ = absent_dtypes.DTYPES["complex32"].numpy  # raises, and says why
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {dtypes.scalar_type(input.dtype)}"
        )
    size, stride, _ = input._geometry
    if not size:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if size[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if stride[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for n, s in zip(size[:-1], stride[:-1], strict=True) if n != 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return make_view(input, step(views.ViewAsComplex), (), "ViewAsComplexBackward0")


@composite(method=False)
def real(input: Tensor) -> Tensor:
    """Return the real part (a view of a complex tensor; a real tensor itself)."""
    require_tensor(input, "real")
    if not input.dtype.is_complex:
        return input
    return make_view(input, step(views.Real), (), "SelectBackward0")


@composite(method=False)
def imag(input: Tensor) -> Tensor:
    """Return the imaginary part, a view. RuntimeError for real tensors."""
    require_tensor(input, "imag")
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return make_view(input, step(views.Imag), (), "SelectBackward0")


def _set_real(input: Tensor, value: Any) -> None:
    real(input)[...] = value


def _set_imag(input: Tensor, value: Any) -> None:
    imag(input)[...] = value


add_method("real", property(real, _set_real))
add_method("imag", property(imag, _set_imag))


@composite(pointwise=True)
def conj(input: Tensor) -> Tensor:
    """Return the conjugate: a view of a complex tensor, a real tensor itself."""
    require_tensor(input, "conj")
    if not input.dtype.is_complex:
        return input
    return make_view(input, step(views.Conj), (), "ConjBackward0")


@composite()
def _conj(input: Tensor) -> Tensor:
    """Return the conjugate, as ``conj()``: a view of a complex tensor."""
    return conj(input)


@composite()
def _neg_view(input: Tensor) -> Tensor:
    """Return the negative as a view: what is written to it is written, negated, to ``input``."""
    return make_view(input, step(views.Neg), (), "NegViewBackward0")
