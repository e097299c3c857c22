"""A program: one captured graph, compiled, and how it runs on the cells of the moment.

A `Program` never changes. What its runs remember is in its `ProgramState`. ``builder`` makes
programs, ``delivery`` puts what a run gave where it belongs, ``generated_call`` does both in
generated source for later calls.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from sys import getrefcount
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core.mapped_files import PrivateMap, name_of
from torchlike._core.storage import Storage, device_array
from torchlike._jit.capture import scalars as given
from torchlike._jit.capture.effects import Effect
from torchlike._jit.capture.scalars import Table
from torchlike._jit.guards.guard import GuardSet
from torchlike._jit.program.delivery import (
    Generators,
    Gradient,
    Inputs,
    Outputs,
    Run,
    abstract,
    deliver,
    targets_of,
)
from torchlike._jit.program.generated_call import generate_call, generate_guard
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
        if not inputs.moving:
            return inputs.cells
        return inputs.cells + [where.find(arguments) for where in inputs.moving]

    def check_memory(self, arguments: Sequence[Tensor]) -> None:
        """Raise `outside_memory.SharedOutside` where this call would write to memory that
        another of its cells shares unbeknown to the program."""
        if self.outputs.written:
            written = targets_of(self.outputs, arguments)
            check(self.storages(arguments), written)

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
        if inputs.getters and drawn is None:  # the first run uses what the capture itself drew
            if self.generators is not None:
                before = self.generators.marks()
            drawn = [getter() for getter in inputs.getters]
            if self.generators is not None:
                undo = self.generators.undo(before)
        if inputs.values:
            arrays += [value.find(arguments, drawn or (), numbers) for value in inputs.values]
        outputs = self.forward(*arrays)
        kept = [arrays[i] for i in self.gradient.kept_inputs]
        return Run(outputs, kept, arrays, arguments, drawn or (), undo)

    def compiling(self, arguments: Sequence[Tensor], drawn: Sequence[Any], numbers: Any) -> Any:
        """Return a function that compiles the program, in any thread, for calls like one with these
        inputs. It holds none of their arrays."""
        arrays: list[Any] = [s.concrete() for s in self.storages(arguments)]
        arrays += [value.find(arguments, drawn, numbers) for value in self.inputs.values]
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


def _count_references() -> int:
    """Return the getrefcount of an array held by its cell and by a list."""
    probe = Storage(object(), None)
    held = [probe.cell]
    return getrefcount(held[0])


_SOLE = _count_references()


# -------------------------------------------------------------------------------------------------
# Memory that several cells of one program share outside of the package.
#
# Two tensors over one NumPy array (or buffer, memory map, DLPack capsule) are two cells to a
# program, which reads all before it writes any. Where such memory is written to, the call runs
# eagerly.


#: What a function whose call runs eagerly for it says once.
WHY = (
    "two of the tensors that it reads or writes lie on the same memory outside (one NumPy array, "
    "buffer or file), and it writes to it"
)


class SharedOutside(Exception):
    """A program was about to write to memory that another of its cells lies on. Nothing was done.
    Never seen by users: the call runs eagerly."""


def check(read: Sequence[Storage], written: Sequence[Storage]) -> None:
    """Raise `SharedOutside` where one of the cells ``written`` shares memory with another cell."""
    cells = {id(s): s for s in (*read, *written) if s.host is not None}
    if len(cells) < 2:
        return
    targets = {id(s) for s in written}
    for key in targets & cells.keys():
        for other, storage in cells.items():
            if other != key and _share(cells[key].host, storage.host):
                raise SharedOutside(WHY)


def _share(a: Any, b: Any) -> bool:
    """True if two arrays share memory, or may and it takes long to say."""
    if np.may_share_memory(a, b):
        try:
            return np.shares_memory(a, b, max_work=1)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            return True
    first, second = _map_of(a), _map_of(b)
    if first is None or second is None or first is second:
        return False
    # Two maps of one file have two addresses. Which file a map is of, only NumPy's maps say.
    names = name_of(a), name_of(b)
    return None in names or names[0] == names[1]


def _map_of(array: Any) -> mmap.mmap | None:
    """Return the memory map that an array lies on, if writes to it leave the process."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    if isinstance(array, mmap.mmap) and type(array) is not PrivateMap:
        return array
    return None
