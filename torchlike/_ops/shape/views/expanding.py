"""Dimensions of size 1 added, removed and repeated: unsqueeze, squeeze, expand."""

from __future__ import annotations

from typing import Any

from torchlike._core import dtypes, errors, views
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import index_of, require_tensor
from torchlike._core.views import step
from torchlike._ops.shape.views.reshaping import reshaped
from torchlike._ops.shape.views.view_factory import make_view, shape_arguments
from torchlike.tensor import Tensor


@composite()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Return a view with a new dimension of size 1 at ``dim``.

    ``dim`` is within ``[-input.dim() - 1, input.dim()]``; IndexError outside.

    Example:
      >>> torch.zeros(3).unsqueeze(0).shape, torch.zeros(3).unsqueeze(-1).shape
      (torch.Size([1, 3]), torch.Size([3, 1]))
    """
    require_tensor(input, "unsqueeze")
    try:
        size, stride, _ = input._geometry
    except errors.NoGeometryError:
        without_memory: Any = input
        return without_memory._unsqueezed(errors.wrap_dim(index_of(dim), input.dim() + 1))
    d = errors.wrap_dim(index_of(dim), len(size) + 1)
    new = size[d] * stride[d] if d < len(size) else 1
    kind = step(views.Reshape, (*size[:d], 1, *size[d:]), (*stride[:d], new, *stride[d:]))
    return reshaped(input, kind, "UnsqueezeBackward0")


@composite()
def squeeze(input: Tensor, dim: Any = None, *more: Any) -> Tensor:
    """Return a view with dimensions of size 1 removed (all, or those named that have size 1).

    IndexError for a dimension out of range.

    Example:
      >>> torch.zeros(1, 3, 1).squeeze().shape, torch.zeros(1, 3, 1).squeeze(0).shape
      (torch.Size([3]), torch.Size([3, 1]))
    """
    require_tensor(input, "squeeze")
    if more:
        dim = (dim, *more)
    size, stride, _ = input._geometry
    ndim = len(size)
    if dim is None:
        named = set(range(ndim))
    else:
        named = {errors.wrap_dim(d, ndim) for d in shape_arguments((dim,))}
    keep = [d for d in range(ndim) if not (d in named and size[d] == 1)]
    kind = step(views.Reshape, tuple(size[d] for d in keep), tuple(stride[d] for d in keep))
    return reshaped(input, kind, f"SqueezeBackward{squeeze_overload(dim)}")


def squeeze_overload(dim: Any, *more: Any) -> int:
    """Return the number that PyTorch gives the nodes of squeeze(), squeeze(dim) and
    squeeze(dims)."""
    return 0 if dim is None else 2 if more or isinstance(dim, (tuple, list)) else 1


@composite(namespaces=(), only_self=True)
def expand(input: Tensor, *sizes: Any, size: Any = None, implicit: Any = False) -> Tensor:
    """Return a view with dimensions of size 1 repeated without copying; -1 keeps a size.

    New dimensions may be put in front. RuntimeError for another size of a dimension that is not 1.

    Example:
      >>> torch.tensor([[1], [2]]).expand(-1, 3)
      tensor([[1, 1, 1],
              [2, 2, 2]])
    """
    wanted = shape_arguments(sizes if size is None else (size,), "expand", "size")
    have = input._geometry.size
    new = len(wanted) - len(have)
    if new < 0:
        raise RuntimeError(
            f"expand({_type_name(input)}{list(have)}, size={list(wanted)}): the number of sizes "
            f"provided ({len(wanted)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(have)})"
        )
    result = []
    for d, n in enumerate(wanted):
        old = have[d - new] if d >= new else None
        if n == -1:
            if old is None:
                raise RuntimeError(
                    f"The expanded size of the tensor ({n}) isn't allowed in a leading, "
                    f"non-existing dimension {d}"
                )
            n = old
        elif n < 0 and old in (None, 1):
            raise RuntimeError("numel: integer multiplication overflow")
        elif old not in (None, 1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at "
                f"non-singleton dimension {d}.  Target sizes: {list(wanted)}.  Tensor sizes: "
                f"{list(have)}"
            )
        result.append(n)
    # Where nothing is repeated, it can be written through like any other view.
    kind = step(views.Alias) if tuple(result) == have else step(views.Expand, tuple(result))
    return make_view(input, kind, (), "ExpandBackward0")


def _type_name(t: Tensor) -> str:
    return f"torch.{dtypes.scalar_type(t.dtype)}Tensor"


@composite(namespaces=())
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Expand to ``other.size()``.

    RuntimeError for another size of a dimension that is not 1.

    Example:
      >>> torch.tensor([[1], [2]]).expand_as(torch.zeros(2, 2))
      tensor([[1, 1],
              [2, 2]])
    """
    return input.expand(other.shape)


@composite()
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """Expand to ``size``."""
    return input.expand(size)
