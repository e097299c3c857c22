"""What a batch norm's running statistics are to forward mode: values without tangents, moved in
place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torchlike._core import modes
from torchlike._extensions import boxes
from torchlike._extensions.boxes import Batched, Dual


def _has_tangent(t: Any) -> bool:
    cell: Any = None if t is None else t._read()
    while type(cell) in boxes.BOXES:
        if type(cell) is Dual and cell.tangent is not None and cell.level.alive:
            return True
        cell = cell.value._read()
    return False


def constants(statistics: Iterable[Any], others: Iterable[Any] = ()) -> list[Any]:
    """Return the statistics without tangents. RuntimeError where one of ``others``, whose
    derivative would depend on theirs, has a tangent too."""
    found = list(statistics)
    if not modes.current.levels or not any(map(_has_tangent, found)):
        return found
    if any(map(_has_tangent, others)):
        raise RuntimeError(
            "batch_norm is not differentiable wrt running_mean and running_var, they cannot have "
            "forward grad defined"
        )
    return [None if t is None else t.detach() for t in found]


def move(statistic: Any, array: Any) -> None:
    """Write a running statistic's new value into it. A tangent of its own stays as it is."""
    while type(array) is Dual or (type(array) is Batched and not array.batched):
        array = array.value._value_now()
    if _has_tangent(statistic):
        statistic = statistic.detach()
    statistic._write(array)
