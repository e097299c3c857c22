"""Guards on optimizers whose step is part of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike._jit.guards.guard import Guard
from torchlike._jit.guards.values import MISSING, describe, equal_tuples, same
from torchlike.tensor import Tensor


class OptimizerGuard(Guard):
    """An optimizer's groups and state tensors: whether its step would still be the same program.

    Numbers that the program asks for anew at each run (a learning rate) may change, but for their
    being zero, which some rules leave out.
    """

    def __init__(self, optimizer: Any, capture: Any) -> None:
        self._optimizer = optimizer
        self._groups = list(optimizer.param_groups)
        self._live = [(g, k) for g in self._groups for k in g if (id(g), k) in capture.host_places]
        self._fixed = [
            (g, k, v)
            for g in self._groups
            for k, v in g.items()
            if (id(g), k) not in capture.host_places and k != "params"
        ]
        self._zero = [(g, k, _is_zero(g[k])) for g, k in self._live]
        self._params = [(g, tuple(map(id, g["params"]))) for g in self._groups]
        self._kept = [g["params"][:] for g in self._groups]
        self._state = optimizer.state
        #: (whose, what it is, ids of its tensors, the tensors, which keeps the ids theirs).
        self._states = [
            (p, s, tuple(map(id, s.values())), list(s.values()))
            for p, s in self._state.items()
            if isinstance(s, dict)
        ]
        self._n_states = len(self._state)
        self._sizes = [(g, len(g)) for g in self._groups]

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        optimizer = self._optimizer
        groups = optimizer.param_groups
        if optimizer.state is not self._state or len(self._state) != self._n_states:
            return False
        if len(groups) != len(self._groups):
            return False
        for now, before in zip(groups, self._groups, strict=True):
            if now is not before:
                return False
        for group, n in self._sizes:
            if len(group) != n:
                return False
        for group, ids in self._params:
            if tuple(map(id, group["params"])) != ids:
                return False
        for group, name, value in self._fixed:
            now = group.get(name, MISSING)
            if now is not value and not same(now, value) and not equal_tuples(now, value):
                return False
        for group, name, zero in self._zero:
            if _is_zero(group[name]) != zero:
                return False
        get = self._state.get
        return all(
            get(p) is state and tuple(map(id, state.values())) == ids
            for p, state, ids, _ in self._states
        )

    def name_states(self, names: dict[int, str]) -> None:
        """Add names of state tensors."""
        for p, state in self._state.items():
            of = names.get(id(p._storage), "a parameter") if isinstance(p, Tensor) else str(p)
            for name, t in state.items():
                if isinstance(t, Tensor):
                    names.setdefault(id(t._storage), f"{name} of {of}")

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        kind = type(self._optimizer).__name__
        for group, name, value in self._fixed:
            now = group.get(name, MISSING)
            if not same(now, value) and not equal_tuples(now, value):
                return f"`{kind}.{name}` changed: {describe(value)} → {describe(now)}"
        for group, name, zero in self._zero:
            if _is_zero(group[name]) != zero:
                return f"`{kind}.{name}` changed: {'0' if zero else 'nonzero'} → {group[name]}"
        if len(self._optimizer.param_groups) != len(self._groups):
            return f"the parameter groups of {kind} changed"
        return f"the parameters or state of {kind} were replaced"


def _is_zero(value: Any) -> bool:
    return False if isinstance(value, Tensor) else value == 0
