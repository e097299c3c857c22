"""Guards on places: on which devices of a mesh an argument lies, where code asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax.sharding import NamedSharding

from torchlike._jit.guards.guard import Guard
from torchlike.tensor import Tensor


class PlaceGuard(Guard):
    """The sharding of an argument that the body asked for; None for one that is on no mesh."""

    __slots__ = ("position", "sharding")
    of_arguments = True

    def __init__(self, position: int, sharding: Any) -> None:
        self.position = position
        self.sharding = sharding

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self._now(arguments) == self.sharding

    def _now(self, arguments: Sequence[Tensor]) -> NamedSharding | None:
        storage = arguments[self.position]._storage
        found = None if storage.is_ordinary else getattr(storage.cell, "sharding", None)
        return found if isinstance(found, NamedSharding) else None

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"argument {self.position} lies elsewhere: {self.sharding} → {self._now(arguments)}"
