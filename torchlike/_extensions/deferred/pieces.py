"""The calls between two flushes, and how they are run: one by one, or as one program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from torchlike._core.dispatch.call import explain
from torchlike._extensions.deferred import policy, prices
from torchlike._extensions.deferred.calls import DeferredCall
from torchlike._extensions.deferred.value import ABSENT, values_of
from torchlike._runtime.device_memory import out_of_memory

if TYPE_CHECKING:
    from torchlike._runtime.background import BackgroundTask


class DeferredPiece:
    """The calls of a chain that the values which are alive at its end need, and those of which
    nothing was used: a script that only measures how long a call takes has it run."""

    __slots__ = (
        "_alive",
        "_calls",
        "_donated",
        "_drops",
        "_n_alive",
        "_program",
        "price",
        "runs",
        "task",
    )

    def __init__(
        self, path: Sequence[DeferredCall], alive: tuple[int, ...], alone: bool = False
    ) -> None:
        self._n_alive = len(alive)
        if not alone:
            alive = (*alive, *_unused(path, alive))
        self._alive = alive
        self._calls, self._drops = _needed(path, alive)
        #: The inputs that a program gives up: those that nobody held at any run so far.
        self._donated: set[int] | None = None
        self._program: Any = None
        self.runs = 0
        #: The program that is being compiled in the background.
        self.task: BackgroundTask[Any] | None = None
        self.price = prices.of(self._calls, alive)

    @property
    def is_small(self) -> bool:
        """Whether it takes a few calls on little data."""
        return len(self._calls) <= 8 and self._calls[-1].bytes - _before(self._calls[0]) < 1 << 16

    def run(self, inputs: list[Any], dead: Sequence[int]) -> list[Any]:
        """Return the values that are alive. ``dead`` are the inputs that nobody else holds."""
        return self._run(inputs, dead)[: self._n_alive]

    def _run(self, inputs: list[Any], dead: Sequence[int]) -> list[Any]:
        self.runs += 1
        if self._program is None:
            if self.task is None:
                self._donated = set(dead) if self._donated is None else self._donated & set(dead)
            self._program = policy.current.program(self, inputs)
            if self._program is None:
                return self.replay(inputs)
        assert self._donated is not None
        held = self._donated.difference(dead)
        if held:  # somebody holds it this time
            inputs = [jnp.array(x, copy=True) if i in held else x for i, x in enumerate(inputs)]
        try:
            return self._program(*inputs)
        except jax.errors.JaxRuntimeError as error:
            raise out_of_memory(error, inputs, f"{len(self._calls)} deferred calls") from None

    def _usable(self, donated: set[int], inputs: list[Any]) -> set[int]:
        """Return those of the inputs whose memory can take one of the results."""
        avals: Counter[Any] = Counter()
        for call in self._calls:
            avals.update(
                aval for n, aval in enumerate(call.results.avals, call.first) if n in self._alive
            )
        found = set()
        for i in sorted(donated):
            aval = inputs[i].shape, inputs[i].dtype
            if avals[aval]:
                avals[aval] -= 1
                found.add(i)
        return found

    def jitted(self, inputs: list[Any]) -> Any:
        """Return the piece as one jitted function of inputs such as these."""
        assert self._donated is not None
        self._donated = self._usable(self._donated, inputs)
        return jax.jit(self._whole, donate_argnums=tuple(sorted(self._donated)))

    def _whole(self, *inputs: Any) -> list[Any]:
        values: dict[int, Any] = {}
        for call in self._calls:
            leaves = [values[n] if n >= 0 else inputs[~n] for n in call.spec]
            out = call.form.function(*call.tree.unflatten(leaves))
            values.update(enumerate(jax.tree.leaves(out), call.first))
        return [values[n] for n in self._alive]

    def replay(self, inputs: list[Any]) -> list[Any]:
        """Run the calls one by one, each as it would have been run at once."""
        values: dict[int, Any] = {}
        for call, drops in zip(self._calls, self._drops, strict=True):
            leaves = [values[n] if n >= 0 else inputs[~n] for n in call.spec]
            args = leaves if call.is_flat else call.tree.unflatten(leaves)
            if call.kept:
                args = values_of(args)
            try:
                out = call.form.run(*args)
            except Exception as error:
                raise explain(error, call.form.name, jax.tree.leaves(args)) from None
            if call.results.tree is None:
                values[call.first] = out
            else:
                leaves = jax.tree.leaves(out)
                missing = len(call.results.avals) - len(leaves)
                values.update(enumerate([*leaves, *[ABSENT] * missing], call.first))
            del leaves, args, out
            for n in drops:
                del values[n]
        return [values[n] for n in self._alive]


def _unused(path: Sequence[DeferredCall], alive: tuple[int, ...]) -> list[int]:
    """Return a value of each call of which none is alive, and none was used by another call."""
    used = set(alive)
    for call in path:
        used.update(call.spec)
    return [
        call.first
        for call in path
        if call.results.avals
        and used.isdisjoint(range(call.first, call.first + len(call.results.avals)))
    ]


def _before(call: DeferredCall) -> int:
    assert call.parent is not None
    return call.parent.bytes


def _needed(
    path: Sequence[DeferredCall], alive: Sequence[int]
) -> tuple[list[DeferredCall], list[list[int]]]:
    """Return the calls that the alive values need, in their order, and for each the values that
    nothing needs after it."""
    needed = set(alive)
    kept: list[DeferredCall] = []
    drops: list[list[int]] = []
    for call in reversed(path):
        own = range(call.first, call.first + len(call.results.avals))
        if needed.isdisjoint(own):
            continue
        used = {n for n in call.spec if n >= 0}
        kept.append(call)
        drops.append([*(used - needed), *(n for n in own if n not in needed)])
        needed |= used
    kept.reverse()
    drops.reverse()
    return kept, drops
