"""The mapped dimension of a tensor, taken away inside a ``vmap`` and given back outside of it."""

from __future__ import annotations

from typing import Any

from torchlike._core import modes, views
from torchlike._core.dispatch.record import snapshot
from torchlike._core.storage import Storage
from torchlike._extensions.boxes import Batched, Mapped
from torchlike._functorch.views_of_all import view_of_all
from torchlike.tensor import Tensor, wrap


def running(level: int) -> Any:
    """Return the running ``vmap`` of a number, which is one more than the number of transforms that
    run outside of it.

    RuntimeError where no ``vmap`` of that number runs.
    """
    levels = modes.current.levels
    found = levels[level - 1] if 0 < level <= len(levels) else None
    if not isinstance(found, Mapped):
        raise RuntimeError(f"no vmap of level {level} is running")
    return found


def one_example(tensor: Tensor, batch_dim: int, level: int) -> Tensor:
    """Return a tensor as the function under a ``vmap`` sees it: one example, without ``batch_dim``.

    What the function writes into it in place is written into ``tensor`` at the end of the ``vmap``.
    """
    of = running(level)
    inside = wrap(_box(of, tensor, batch_dim))
    of.entered.append((tensor, batch_dim, inside))
    return inside


def _box(of: Mapped, tensor: Tensor, batch_dim: int) -> Batched:
    moved = tensor.movedim(batch_dim, 0)
    of.reordered = of.reordered or not moved.is_contiguous()
    rows = snapshot(moved)
    geometry = moved._geometry
    if views.is_dense(geometry) and not views.is_contiguous(geometry.size, geometry.stride):
        rows._storage.strides = geometry.stride  # the order in which random numbers are drawn
    return Batched(of, rows)


def _add_batch_dim(tensor: Tensor, batch_dim: int, level: int) -> Tensor:
    """Return `one_example` for those who may keep it: under a later ``vmap`` of that number it is
    one example of what ``tensor`` holds then."""
    return Tensor._on(_KeptExample(tensor, batch_dim, level), None)


class _KeptExample(Storage):
    """The storage of an example. PyTorch's has the number of its ``vmap`` and the memory of the
    user's tensor, so a container that keeps it (a locked tensordict does) sees what was written in
    the meantime."""

    __slots__ = ("_dim", "_held", "_number", "_of")

    def __init__(self, tensor: Tensor, batch_dim: int, number: int) -> None:
        self._of, self._dim, self._number = tensor, batch_dim, number
        self._enter(running(number))
        super().__init__(self._held)

    def _enter(self, level: Mapped) -> None:
        self._held = _box(level, self._of, self._dim)
        self.version = 0
        level.entered.append((self._of, self._dim, Tensor._on(self, None)))

    @property
    def cell(self) -> Any:
        """The box of the ``vmap`` that runs, or did."""
        held, levels = self._held, modes.current.levels
        if not held.level.alive and self._number <= len(levels):
            level = levels[self._number - 1]
            if isinstance(level, Mapped) and level.size == self._of.shape[self._dim]:
                self._enter(level)
        return self._held

    @cell.setter
    def cell(self, value: Any) -> None:
        self._held = value


def whole(level: Any, tensor: Tensor) -> Tensor:
    """Return the tensor inside a tensor of a running ``vmap``: all examples, along the first
    dimension."""
    cell = tensor._read()
    if type(cell) is Batched and cell.level is level:
        tensor = cell.value
        if cell.batched:
            return tensor
    return tensor.expand(level.size, *tensor.shape)


def _given_back(level: Mapped, tensor: Tensor) -> tuple[Tensor, int] | None:
    """Return the tensor that the ``vmap`` maps over and its mapped dimension, where a result is an
    example of that itself, or the same view of all examples: as in PyTorch they share memory. None
    for other results."""
    for user, dim, inside in level.entered:
        if inside._storage is tensor._storage:
            if tensor._view is None:
                return user, dim
            found = view_of_all(user.movedim(dim, 0), tensor._view)
            return None if found is None else (found, 0)
    return None


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """Return all examples of a tensor of a ``vmap``, along dimension ``out_dim``; a tensor that is
    the same for all is repeated as often as there are examples. Raises IndexError for a dimension
    it does not have."""
    of = running(level)
    given = _given_back(of, tensor)
    found, dim = (whole(of, tensor), 0) if given is None else given
    n = found.dim()
    if not -n <= out_dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got "
            f"{out_dim})"
        )
    return found if out_dim % n == dim else found.movedim(dim, out_dim)


def same_for_all(level: int, tensor: Tensor) -> Tensor | None:
    """Return a tensor that all examples share, as it is outside of the ``vmap``, or None where each
    has its own."""
    cell = tensor._read()
    if type(cell) is not Batched or cell.level is not running(level):
        return tensor
    return None if cell.batched else cell.value
