"""The calls between two flushes, and how they are run: one by one, or as one program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core

from torchlike._core.dispatch.call import explain
from torchlike._extensions.deferred import prices
from torchlike._extensions.deferred.calls import DeferredCall
from torchlike._extensions.deferred.value import ABSENT, values_of
from torchlike._runtime import logs
from torchlike._runtime.device_memory import out_of_memory
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.first_calls.statistics import CompiledPiece, compiled_pieces
from torchlike._runtime.jax_private.arrays import ArrayImpl

if TYPE_CHECKING:
    from torchlike._extensions.deferred.account import Account
    from torchlike._extensions.deferred.policy import Policy
    from torchlike._runtime.background import BackgroundTask


log = logs.logger("first_calls")
_WHERE = (
    "{name} was called at {line} (or at a line that does the same), and run when a value was asked "
    "for; with TORCHLIKE_EAGER=immediate the error comes at its line"
)


class DeferredPiece:
    """The calls of a chain that the values which are alive at its end need, and those of which
    nothing was used: a script that only measures how long a call takes has it run."""

    __slots__ = (
        "_alive",
        "_calls",
        "_donated",
        "_drops",
        "_fails",
        "_guess",
        "_n_alive",
        "_order",
        "_price",
        "_program",
        "heard",
        "ready",
        "record",
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
        #: The alive values as the program gives them.
        self._order: Sequence[int] = alive
        #: Whether the program failed once: the calls run one by one, which names the one that does.
        self._fails = False
        self.runs = 0
        #: What is heard of its calls where they are not recorded (`prices.heard`).
        self.heard = prices.NOTHING
        #: The program that is being compiled in the background.
        self.task: BackgroundTask[Any] | None = None
        #: The account's time from which on it is used.
        self.ready = 0.0
        self._price: prices.Price | None = None
        self._guess: prices.Price | None = None
        #: What is reported of it, once it is compiled.
        self.record: CompiledPiece | None = None

    @property
    def is_small(self) -> bool:
        """Whether it takes a few calls on little data, as an accelerator has it."""
        most = 1 << 16 if host().is_default else 1 << 26
        return len(self._calls) <= 8 and self._calls[-1].bytes - _before(self._calls[0]) < most

    @property
    def kind(self) -> tuple[Any, ...]:
        """What it does, whatever the sizes of its operands."""
        return tuple([(call.form.name, call.spec) for call in self._calls])

    @property
    def line(self) -> str:
        """The user's line at which it begins."""
        return next((call.line for call in self._calls if call.line), "?")

    def run(
        self, inputs: list[Any], dead: Sequence[int], policy: Policy, account: Account
    ) -> list[Any]:
        """Return the values that are alive. ``dead`` are the inputs that nobody else holds; the
        policy says whether it runs as a program."""
        return self._run(inputs, dead, policy, account)[: self._n_alive]

    def _run(
        self, inputs: list[Any], dead: Sequence[int], policy: Policy, account: Account
    ) -> list[Any]:
        self.runs += 1
        if self._fails:
            return self.replay(inputs, dead)
        try:
            if self._program is None:
                if self.task is None:
                    kept = set(dead) if self._donated is None else self._donated & set(dead)
                    self._donated = kept
                self._program = policy.program(self, inputs, account)
            if self._program is not None:
                account.ran_program(self.priced())
                return self._call_program(inputs, dead)
        except Exception as error:
            if any(type(x) is ArrayImpl and x.is_deleted() for x in inputs):
                raise  # they were given up
            log.warning("a program of %d deferred calls fails: %r", len(self._calls), error)
            self._fails, self._program, self.task = True, None, None
            return self.replay(inputs, dead)
        found = self.replay(inputs, dead)
        if policy.listens:
            price = self.price
            account.ran(price.one_by_one, price.saved if self.runs > 1 else 0.0)
            if self._price is not None:
                account.compare(price, self.heard)
            account.charge(prices.FLUSH + prices.REPLAYED * len(self._calls))
        return found

    @property
    def price(self) -> prices.Price:
        """The price of the piece: a guess until it is `priced`."""
        if self._price is not None:
            return self._price
        if self._guess is None:
            self._guess = prices.roughly(self._calls)
        return self._guess

    @property
    def is_priced(self) -> bool:
        """Whether the price is no guess."""
        return self._price is not None

    def priced(self) -> prices.Price:
        """Return the price, for which each of its calls is traced once. That takes long, so it is
        asked for where the guess says that a program is worth it, which needs the traces, too."""
        if self._price is None:
            self._price = prices.of(self._calls, self._alive)
        return self._price

    def due(self) -> float:
        """Return what compiling its calls one by one will take soon, where it is no program."""
        return prices.due(self._calls)

    def new_calls(self) -> float:
        """Return the part of its calls that were in no program yet and have not run alone; from now
        on all of them have."""
        new = [call.known for call in self._calls if not call.known.is_compiled]
        for known in new:
            known.is_compiled = True
        return len(new) / len(self._calls)

    def _call_program(self, inputs: list[Any], dead: Sequence[int]) -> list[Any]:
        if self.record is not None:
            self.record.runs = self.runs
            self.record.as_program += 1
            assert self._price is not None
            self.record.saved += self._price.saved
        assert self._donated is not None
        held = self._donated.difference(dead)
        if held:  # somebody holds it this time
            inputs = [jnp.array(x, copy=True) if i in held else x for i, x in enumerate(inputs)]
        try:
            values = dict(zip(self._order, self._program(*inputs), strict=True))
        except jax.errors.JaxRuntimeError as error:
            raise out_of_memory(error, inputs, f"{len(self._calls)} deferred calls") from None
        return [values[n] for n in self._alive]

    def _partners(self, donated: set[int], inputs: list[Any]) -> dict[int, int]:
        """Return which of the inputs give their memory to which alive value: to the one that takes
        their place, as an optimizer's new parameter does; what is left, to one of its kind."""
        takes = self._places(inputs)
        found = {takes[n]: n for n in self._alive if takes.get(n) in donated}
        avals, left = self._avals(), defaultdict(list)
        for n in sorted(set(self._alive).difference(found.values()), reverse=True):
            left[avals[n]].append(n)
        for i in sorted(donated.difference(found)):
            if alike := left[_aval(inputs[i])]:
                found[i] = alike.pop()
        return dict(sorted(found.items()))

    def _avals(self) -> dict[int, Any]:
        """Return shape and dtype of each value."""
        return {
            n: aval for call in self._calls for n, aval in enumerate(call.results.avals, call.first)
        }

    def _places(self, inputs: list[Any]) -> dict[int, int]:
        """Return the input whose place a value takes, of those that calls may write in place."""
        avals, takes = self._avals(), {}
        for call in self._calls:
            if call.form.donating is None:
                continue
            given = defaultdict(list)
            for code in reversed(call.spec[: call.tree.children()[0].num_leaves]):
                aval = avals[code] if code >= 0 else _aval(inputs[~code])
                given[aval].append(code)
            for n, aval in enumerate(call.results.avals, call.first):  # paired as JAX does it
                if given[aval]:
                    code = given[aval].pop()
                    takes[n] = ~code if code < 0 else takes.get(code, -1)
        return takes

    def jitted(self, inputs: list[Any], **options: Any) -> Any:
        """Return the piece as one jitted function of inputs such as these, with options of
        ``jax.jit``."""
        assert self._donated is not None
        if self.record is None:
            self.record = CompiledPiece(tuple([c.form.name for c in self._calls]), self.runs)
            compiled_pieces.append(self.record)
        partners = self._partners(self._donated, inputs)
        self._donated = set(partners)
        # Results in this order: JAX pairs them with donated inputs of their shape and dtype as they
        # come, and XLA copies what two calls would need the memory of at once.
        first = [*partners.values()]
        self._order = [*first, *(n for n in self._alive if n not in set(first))]
        return jax.jit(self._whole, donate_argnums=tuple(partners), **options)

    def _whole(self, *inputs: Any) -> list[Any]:
        values: dict[int, Any] = {}
        for call in self._calls:
            leaves = [values[n] if n >= 0 else inputs[~n] for n in call.spec]
            closed = call.known.jaxpr
            out = core.eval_jaxpr(closed.jaxpr, closed.consts, *leaves)
            values.update(enumerate(out, call.first))
        return [values[n] for n in self._order]

    def replay(self, inputs: list[Any], dead: Sequence[int] = ()) -> list[Any]:
        """Run the calls one by one, each as it would have been run at once: what updates inputs
        that nobody else holds, such as an optimizer, writes into their memory."""
        values: dict[int, Any] = {}
        for i, (call, drops) in enumerate(zip(self._calls, self._drops, strict=True)):
            leaves = [values[n] if n >= 0 else inputs[~n] for n in call.spec]
            args = leaves if call.is_flat else call.tree.unflatten(leaves)
            if call.kept:
                args = values_of(args)
            form = call.form
            if form.donating is not None and self._may_donate(i, inputs, dead, values):
                form = form.donating
            try:
                out = form.run(*args)
            except Exception as error:
                explained = explain(error, call.form.name, jax.tree.leaves(args))
                if call.line:
                    explained.add_note(_WHERE.format(name=call.form.name, line=call.line))
                raise explained from None
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

    def _may_donate(
        self, i: int, inputs: list[Any], dead: Sequence[int], values: dict[int, Any]
    ) -> bool:
        """Return whether a call may give up its first operands: dead inputs or host values, which
        are copied to the device, each of them there once, which no later call uses, and which no
        call has passed on as its result."""
        call = self._calls[i]
        n = call.tree.children()[0].num_leaves
        given = set(call.spec[:n])
        own = {~k for k in dead}.union(n for n in given if n < 0 and type(inputs[~n]) is np.ndarray)
        if len(given) < n or not given <= own:
            return False
        used = {k for later in self._calls[i + 1 :] for k in later.spec}.union(call.spec[n:])
        arrays = {id(inputs[~k]) for k in given}
        return given.isdisjoint(used) and arrays.isdisjoint(map(id, values.values()))


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


def _aval(x: Any) -> Any:
    return (x.shape, x.dtype) if hasattr(x, "shape") else type(x)


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
