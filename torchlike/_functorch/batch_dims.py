"""The mapped dimension of a tensor, taken away inside a ``vmap`` and given back outside of it."""

from __future__ import annotations

from typing import Any

from torchlike._core import modes
from torchlike._core.boxes import Batched, Mapped
from torchlike._core.tensor import Tensor, wrap
from torchlike._dispatch.record import still


def running(level: int) -> Any:
    """The ``vmap`` of a number, which is how many transforms run outside of it, and one.

    RuntimeError where no ``vmap`` of that number runs.
    """
    levels = modes.current.levels
    found = levels[level - 1] if 0 < level <= len(levels) else None
    if not isinstance(found, Mapped):
        raise RuntimeError(f"no vmap of level {level} is running")
    return found


def _add_batch_dim(tensor: Tensor, batch_dim: int, level: int) -> Tensor:
    """A tensor as the function under a ``vmap`` sees it: one example, without ``batch_dim``.

    What the function writes into it in place is written into ``tensor`` at the end of the ``vmap``.
    """
    of = running(level)
    moved = tensor.movedim(batch_dim, 0)
    of.reordered = of.reordered or not moved.is_contiguous()
    inside = wrap(Batched(of, still(moved)))
    of.entered.append((tensor, batch_dim, inside))
    return inside


def whole(level: Any, tensor: Tensor) -> Tensor:
    """What is inside a tensor of a running ``vmap``: all examples, along the first dimension."""
    cell = tensor._read()
    if type(cell) is Batched and cell.level is level:
        tensor = cell.value
        if cell.batched:
            return tensor
    return tensor.expand(level.size, *tensor.shape)


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """All examples of a tensor of a ``vmap``, along dimension ``out_dim``; as many copies as there
    are examples of what is the same for all. IndexError for a dimension it does not have."""
    found = whole(running(level), tensor)
    n = found.dim()
    if not -n <= out_dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got "
            f"{out_dim})"
        )
    return found.movedim(0, out_dim) if out_dim else found


def same_for_all(level: int, tensor: Tensor) -> Tensor | None:
    """A tensor that all examples share, as it is outside of the ``vmap``; None where each has its
    own."""
    cell = tensor._read()
    if type(cell) is not Batched or cell.level is not running(level):
        return tensor
    return None if cell.batched else cell.value
