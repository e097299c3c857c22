"""Guards on the environment: variables that code reads by ``os.environ``, ``os.getenv`` and kin."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._jit.guards.containers import EntriesGuard
from torchlike._jit.guards.values import MISSING, describe
from torchlike._jit.guards.variables import VariableGuard
from torchlike.tensor import Tensor

#: What both ``os.environ`` and ``os.environb`` keep the variables in, encoded.
_VARIABLES: Any = os.environ._data  # type: ignore[attr-defined]


class EnvironmentVariableGuard(VariableGuard):
    """One environment variable, by its encoded name."""

    __slots__ = ("name", "value")

    def __init__(self, name: Any) -> None:
        super().__init__(_VARIABLES, f"os.environ[{os.fsdecode(name)!r}]")
        self.name = name
        self.value = _VARIABLES.get(name)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return bool(_VARIABLES.get(self.name) == self.value)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(_VARIABLES.get)}({self.name!r}) == {self.value!r}"

    def before(self) -> Any:
        return MISSING if self.value is None else os.fsdecode(self.value)

    def now(self) -> Any:
        value = _VARIABLES.get(self.name)
        return MISSING if value is None else os.fsdecode(value)

    def put(self, value: Any) -> None:
        if value is MISSING:
            os.environ.pop(os.fsdecode(self.name), None)
        else:
            os.environ[os.fsdecode(self.name)] = value


class EnvironmentGuard(EntriesGuard):
    """All environment variables: code asks which there are."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_VARIABLES, "os.environ")

    def _changed(self) -> list[Any]:
        """Return the names of the variables that differ."""
        return [k for k in {**self.items, **_VARIABLES} if _VARIABLES.get(k) != self.items.get(k)]

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        for name in self._changed():
            before, now = (
                MISSING if x is None else os.fsdecode(x)
                for x in (self.items.get(name), _VARIABLES.get(name))
            )
            label = f"os.environ[{os.fsdecode(name)!r}]"
            return f"`{label}` changed: {describe(before)} → {describe(now)}"
        return "the order of `os.environ` changed"

    def restore(self) -> None:
        for name in self._changed():
            before = self.items.get(name)
            if before is None:
                del os.environ[os.fsdecode(name)]
            else:
                os.environ[os.fsdecode(name)] = os.fsdecode(before)
