"""Dimensions in another order: transpose, permute, t, movedim, T, mT, H."""

from __future__ import annotations

import functools
from typing import Any

from torchlike._core import errors, views
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import require_tensor
from torchlike._core.views import Step, step
from torchlike._ops.shape.views.view_factory import make_view, one_argument, shape_arguments
from torchlike.tensor import Tensor, add_method


def _permuted(t: Tensor, dims: tuple[int, ...], name: str) -> Tensor:
    return make_view(t, step(views.Permute, dims), (), name)


@composite(only_self=True)
def permute(input: Tensor, *dims: Any, **kwargs: Any) -> Tensor:
    """Return a view with the dimensions in the given order.

    RuntimeError unless each dimension is named once; IndexError for one out of range.

    Example:
      >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
      torch.Size([4, 2, 3])
    """
    require_tensor(input, "permute")
    order = shape_arguments(
        dims if dims and not kwargs else one_argument(dims, kwargs, "permute", "dims"),
        "permute",
        "dims",
    )
    ndim = input.dim()
    if len(order) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(order)}"
        )
    wrapped = tuple(errors.wrap_dim(d, ndim) for d in order)
    if len(set(wrapped)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permuted(input, wrapped, "PermuteBackward0")


@composite(aliases=("swapaxes", "swapdims"), other_names={"axis0": "dim0", "axis1": "dim1"})
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return a view with two dimensions swapped.

    Negative dimensions count from the end. IndexError for one out of range.

    Example:
      >>> torch.zeros(2, 3, 4).transpose(0, 2).shape
      torch.Size([4, 3, 2])
    """
    require_tensor(input, "transpose")
    find = _swapping if type(dim0) is int is type(dim1) else _swapping.__wrapped__
    return make_view(input, find(input.dim(), dim0, dim1), (), "TransposeBackward0")


@functools.lru_cache(1024)
def _swapping(ndim: int, dim0: int, dim1: int) -> Step:
    """Return the step that swaps two dimensions of so many. IndexError for one out of range."""
    a, b = errors.wrap_dim(dim0, ndim), errors.wrap_dim(dim1, ndim)
    if not ndim:
        return step(views.Alias)
    dims = list(range(ndim))
    dims[a], dims[b] = dims[b], dims[a]
    return step(views.Permute, tuple(dims))


@composite()
def t(input: Tensor) -> Tensor:
    """Return the transpose of a tensor with at most two dimensions.

    RuntimeError for more dimensions.

    Example:
      >>> torch.zeros(2, 3).t().shape
      torch.Size([3, 2])
    """
    require_tensor(input, "t")
    if input.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.dim()}D")
    if input.dim() < 2:
        return make_view(input, step(views.Alias), (), "TBackward0")
    return _permuted(input, (1, 0), "TBackward0")


@composite(aliases=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Return a view with dimensions moved to new places, the others keeping their order."""
    ndim = input.dim()
    froms = [errors.wrap_dim(d, ndim) for d in shape_arguments((source,))]
    tos = [errors.wrap_dim(d, ndim) for d in shape_arguments((destination,))]
    if len(froms) != len(tos):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({froms} dims) should contain "
            f"the same number of dims as destination ({tos} dims)"
        )
    for what, dims in (("source", froms), ("destination", tos)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({dims})")
    rest = iter([d for d in range(ndim) if d not in froms])
    placed = dict(zip(tos, froms, strict=True))
    order = tuple(placed[d] if d in placed else next(rest) for d in range(ndim))
    return _permuted(input, order, "PermuteBackward0")


def _swapped(t: Tensor, name: str, instead: str) -> Tensor:
    """Return a view with the last two dimensions swapped. RuntimeError for a vector; a scalar
    stays, with a warning that says what to use ``instead``."""
    if t.dim() == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    if not t.dim():
        errors.warn_user_once(f"Tensor.{name} is deprecated on 0-D tensors. {instead}")
        return t
    return t.transpose(-2, -1)


_IDENTITY = "This function is the identity in these cases."
_CONJ = "Consider using x.conj()."


def _mT(self: Tensor) -> Tensor:
    """Return a view with the last two dimensions swapped."""
    return _swapped(self, "mT", _IDENTITY)


def _mH(self: Tensor) -> Tensor:
    """Return the conjugate transpose of the last two dimensions."""
    return _swapped(self, "mH", _CONJ).conj()


def _T(self: Tensor) -> Tensor:
    """Return a view with all dimensions in reversed order."""
    if self.dim() not in (0, 2):
        errors.warn_user_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
            "deprecated and it will throw an error in a future release. Consider `x.mT` to "
            "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor."
        )
    return _permuted(self, tuple(reversed(range(self.dim()))), "PermuteBackward0")


def _H(self: Tensor) -> Tensor:
    """Return the conjugate transpose of a matrix."""
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if self.dim() > 2 else "")
        )
    if not self.dim():
        errors.warn_user_once(f"Tensor.H is deprecated on 0-D tensors. {_CONJ}")
    return (self.transpose(0, 1) if self.dim() else self).conj()


add_method("T", property(_T))
add_method("mT", property(_mT))
add_method("H", property(_H))
add_method("mH", property(_mH))


@composite()
def adjoint(input: Tensor) -> Tensor:
    """Return the conjugate transpose of the last two dimensions."""
    require_tensor(input, "adjoint")
    return _swapped(input, "adjoint()", _CONJ).conj()
