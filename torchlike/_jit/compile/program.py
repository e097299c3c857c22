"""A program: one captured graph, compiled, and how it runs on the cells of the moment.

A `Program` never changes. What its runs remember is in its `ProgramState`. ``builder`` makes
programs, ``delivery`` puts what a run gave where it belongs, ``generated_call`` does both in
generated source for later calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from sys import getrefcount
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core.storage import Storage, device_array
from torchlike._jit.capture import given
from torchlike._jit.capture.replayed_effects import Effect
from torchlike._jit.capture.scalars import Table
from torchlike._jit.compile import outside_memory
from torchlike._jit.compile.delivery import deliver, targets_of
from torchlike._jit.compile.generated_call import generate_call, generate_guard
from torchlike._jit.compile.generators import Generators
from torchlike._jit.compile.layout import Gradient, Inputs, Outputs, Run, abstract
from torchlike._jit.guards.guard import GuardSet
from torchlike._runtime import targets
from torchlike._runtime.late_checks import Words
from torchlike.tensor import Tensor


class ProgramState:
    """What the runs of a program remember."""

    __slots__ = ("batched", "call", "double", "guard", "inline_cache", "lock", "used")

    def __init__(self) -> None:
        #: Held by a call that reads state and writes it back.
        self.lock = threading.Lock()
        #: When the function last ran the program, in calls.
        self.used = 0
        #: ``call(arguments, numbers)``, what `Program.call` gives or UNFIT, and
        #: ``guard(arguments)``, which is True only if the guards hold: from the second call on.
        self.call: Any = None
        self.guard: Callable[..., Any] | None = None
        #: ``recognize(args, kwargs, current)`` for calls like the one before: None before there was
        #: one, False where there cannot be. See ``inline_cache``.
        self.inline_cache: Any = None
        #: The gradient's gradient, once one asked for it; see ``double``.
        self.double: Any = None
        #: The backward executable under a transform, once one asked for it.
        self.batched: dict[str, Any] = {}


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Program:
    """A compiled capture."""

    #: The executable: arrays of the inputs to arrays of the outputs.
    forward: Any
    inputs: Inputs
    outputs: Outputs
    gradient: Gradient
    #: What becomes of the words of its calls; None where it checks no values.
    words: Words | None
    #: The random generators that a call draws from, where a check of values may undo it.
    generators: Generators | None
    #: What it depends on besides the call's key.
    guards: GuardSet
    #: What gives the numbers of a call, of its arguments; None where there are none.
    numbers: Table | given.CallValues | None
    #: What the body recorded in Python's objects, for the later calls.
    effects: list[Effect]
    #: Whether a call writes to cells or binds slots.
    updates: bool
    #: Traces the function once more for create_graph.
    retrace: Callable[[Run], Any] | None
    #: Seconds that the run of the Python body took.
    capture_seconds: float
    #: Whether it may run again; if not, why not, and whether that is only because the body changed
    #: the structure of modules or optimizers, which it may do once.
    cacheable: bool
    why_not: str
    changes_structure: bool
    state: ProgramState = field(default_factory=ProgramState)

    def numbers_of(self, leaves: Sequence[Any], given: Any) -> Any:
        """Return the numbers of a call; None where they do not fit. ``given``: positional and
        keyword arguments, ``leaves`` what is in them."""
        return self.numbers.evaluate(leaves, given) if self.numbers else ()

    def storages(self, arguments: Sequence[Tensor]) -> list[Storage]:
        """Return the storages that are behind the inputs now."""
        inputs = self.inputs
        found = inputs.cells
        if inputs.slots:
            found = found + [slot.value(arguments)._storage for slot in inputs.slots]
        if inputs.arguments:
            found = found + [arguments[i]._storage for i in inputs.arguments]
        return found

    def check_memory(self, arguments: Sequence[Tensor]) -> None:
        """Raise `outside_memory.SharedOutside` where this call would write to memory that
        another of its cells shares unbeknown to the program."""
        if self.outputs.written:
            written = targets_of(self.outputs, arguments)
            outside_memory.check(self.storages(arguments), written)

    def generate(self) -> Any:
        """Generate the functions for the calls from now on: 0.5 ms for 10 cells, 2.5 for 100."""
        state = self.state
        state.guard = generate_guard(self.guards)
        state.call = generate_call(self)
        return state.call

    def call(self, arguments: Sequence[Tensor], numbers: Any) -> Any:
        """Run on the cells of the moment, the general way; gives the function's result."""
        return deliver(self, arguments, self.run(arguments, None, numbers), None, numbers)

    def run(
        self, arguments: Sequence[Tensor], drawn: list[Any] | None = None, numbers: Any = ()
    ) -> Run:
        """Execute on the cells of the moment. `outside_memory.SharedOutside` as `check_memory`."""
        self.check_memory(arguments)
        inputs = self.inputs
        arrays: list[Any] = [
            s.cell if s.host is None and type(s.cell) is not np.ndarray else s.concrete()
            for s in self.storages(arguments)
        ]
        # Held by anything else than its cell and this list (a node, a view, a handle)?
        for i in [i for i in inputs.donated if getrefcount(arrays[i]) != _SOLE]:
            arrays[i] = _copied(arrays[i])
        undo = None
        if inputs.getters:
            if drawn is None:  # the first run uses what the capture itself drew
                if self.generators is not None:
                    before = self.generators.marks()
                drawn = [getter() for getter in inputs.getters]
                if self.generators is not None:
                    undo = self.generators.undo(before)
            arrays += [drawn[i] for i in inputs.drawn]
        if inputs.numbers:
            arrays += [numbers[i] for i in inputs.numbers]
        if inputs.offsets:
            arrays += self._numbers_of_offsets(arguments)
        outputs = self.forward(*arrays)
        kept = [arrays[i] for i in self.gradient.kept_inputs]
        return Run(outputs, kept, arrays, arguments, drawn or (), undo)

    def _numbers_of_offsets(self, arguments: Sequence[Tensor]) -> list[int]:
        """Return the offsets of those views among the arguments whose offset is no part of the
        key."""
        offsets = self.inputs.offsets
        views: list[Any] = [arguments[i]._view for i, _ in offsets]
        return [view.dynamic[k] for view, (_, k) in zip(views, offsets, strict=True)]

    def compiling(self, arguments: Sequence[Tensor], drawn: Sequence[Any], numbers: Any) -> Any:
        """Return a function that compiles the program, in any thread, for calls like one with these
        inputs. It holds none of their arrays."""
        arrays: list[Any] = [s.concrete() for s in self.storages(arguments)]
        arrays += [drawn[i] for i in self.inputs.drawn]
        arrays += [numbers[i] for i in self.inputs.numbers]
        arrays += self._numbers_of_offsets(arguments)
        inputs, gradient = list(map(abstract, arrays)), self.gradient

        def work() -> None:
            self.forward.lower(*inputs).compile()
            if gradient.executable is not None:
                kept = [inputs[i] for i in gradient.kept_inputs]
                residuals = tuple(gradient.residual_avals), tuple(kept)
                gradient.executable.lower(residuals, tuple(gradient.cotangent_avals)).compile()

        return work


def _copied(array: Any) -> jax.Array:
    """Copy an array to memory of its own, on the devices where it lies."""
    if len(array.sharding.device_set) > 1:
        return jax.device_put(array, array.sharding, may_alias=False)
    if targets.runs_on_cpu():  # by NumPy: it compiles nothing (18 ms a shape)
        return device_array(np.array(array))
    return jnp.array(array)


def _count_references_in_list() -> int:
    """Return the getrefcount of an array held by its cell and by a list."""
    probe = Storage(object(), None)
    held = [probe.cell]
    return getrefcount(held[0])


_SOLE = _count_references_in_list()
