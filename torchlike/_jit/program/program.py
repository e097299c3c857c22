"""A program: built of a trace, compiled, and run on the cells of the moment.

A `Program` never changes. What its runs remember is in its `ProgramState`. ``builder`` makes
programs, ``delivery`` puts what a run gave where it belongs, ``generated_call`` does both in
generated source for later calls.
"""

from __future__ import annotations

import math
import mmap
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from sys import getrefcount
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core.devices import CPU, to_jax
from torchlike._core.storage import Storage, device_array
from torchlike._jit.capture import scalars
from torchlike._jit.capture.capture import Capture, guards_of
from torchlike._jit.capture.effects import Effect
from torchlike._jit.capture.scalars import Table
from torchlike._jit.guards.guard import GuardSet
from torchlike._jit.guards.merged import merged
from torchlike._jit.guards.modules import SlotGuard
from torchlike._jit.guards.sources import (
    INPUT_KINDS,
    ArgumentCell,
    CellSource,
    ConstantArray,
    CotangentInput,
    FixedCell,
    InputSource,
    PerCallValue,
    SlotCell,
    TracedNumber,
    ViewOffset,
    rebound_slots,
)
from torchlike._jit.program.checks import agreement, checked
from torchlike._jit.program.delivery import (
    Gradient,
    Inputs,
    Outputs,
    Run,
    deliver,
    targets_of,
)
from torchlike._jit.program.donation import each_in_its_memory, updates_last
from torchlike._jit.program.generated_call import generate_call, generate_guard
from torchlike._jit.program.undoing import Generators, GradientSlots
from torchlike._jit.trace.backward import (
    Split,
    backward_evaluator,
    evaluator,
    flattening,
    partition,
)
from torchlike._jit.trace.outputs import TraceResults
from torchlike._runtime import first_calls, targets
from torchlike._runtime.blocks.plan import ProgramBlock
from torchlike._runtime.blocks.tiers import Compilation, Tiers, compilation, may_be_shared
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.jax_private.jaxprs import close
from torchlike._runtime.jaxprs import placeholder
from torchlike._runtime.late_checks import Words
from torchlike._runtime.mapped_files import PrivateMap, name_of
from torchlike._runtime.one_device import Placed
from torchlike._runtime.rolling.roll import Outside, rolled
from torchlike._runtime.scheduling import compiled
from torchlike.tensor import Tensor


class ProgramState:
    """What the runs of a program remember.

    Attributes:
      lock: held by a call that reads state and writes it back.
      used: when the function last ran the program, in calls.
      call: ``call(arguments, numbers)``, what `Program.call` gives or UNFIT, and
        ``guard(arguments)``, which is True only if the guards hold: from the second call on.
      inline_cache: ``recognize(args, kwargs, current)`` for calls like the one before: None before
        there was one, False where there cannot be. See ``inline_cache``.
      double: the gradient's gradient, once one asked for it; see ``double``.
      batched: the backward executable under a transform, once one asked for it.
    """

    __slots__ = ("batched", "call", "double", "guard", "inline_cache", "lock", "used")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.used = 0
        self.call: Any = None
        self.guard: Callable[..., Any] | None = None
        self.inline_cache: Any = None
        self.double: Any = None
        self.batched: dict[str, Any] = {}


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Program:
    """A compiled capture.

    Attributes:
      forward: the executable: arrays of the inputs to arrays of the outputs.
      words: what becomes of the words of its calls; None where it checks no values.
      generators: the random generators that a call draws from, where a check of values may undo it.
      gradient_slots: the gradients that a call binds, which a check of values may take back.
      guards: what it depends on besides the call's key.
      numbers: what gives the numbers of a call, of its arguments; None where there are none.
      prints: what the body prints, at each call.
      updates: whether a call writes to cells, binds slots or changes Python's objects.
      retrace: traces the function once more for create_graph.
      capture_seconds: seconds that the run of the Python body took.
      cost: what compiling it and a call without it are thought to take.
      cacheable, why_not, changes_structure: whether it may run again; if not, why not, and
        whether that is only because the body changed the structure of modules or optimizers, which
        it may do once.
    """

    forward: Any
    inputs: Inputs
    outputs: Outputs
    gradient: Gradient
    words: Words | None
    generators: Generators | None
    gradient_slots: GradientSlots | None
    guards: GuardSet
    numbers: Table | scalars.CallValues | None
    prints: Effect | None
    updates: bool
    retrace: Callable[[Run], Any] | None
    capture_seconds: float
    cost: first_calls.WholeProgram
    cacheable: bool
    why_not: str
    changes_structure: bool
    state: ProgramState = field(default_factory=ProgramState)

    @property
    def may_run_again(self) -> bool:
        """Whether a call of which a check of values fails runs eagerly, so that it leaves Python's
        objects as they are left where that raises, and raises what the user's code does."""
        words = self.words
        return words is not None and (words.raises or bool(self.outputs.outside))

    def numbers_of(self, leaves: Any) -> Any:
        """Return the numbers of a call with these leaves, and the containers around them; None
        where they do not fit."""
        return self.numbers.evaluate(leaves) if self.numbers else ()

    def storages(self, arguments: Sequence[Tensor]) -> list[Storage]:
        """Return the storages that are behind the inputs now."""
        return self.inputs.storages(arguments)

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

    def compiling(self, inputs: Sequence[Any]) -> Compilation:
        """Return how the program is compiled, in any thread, for calls with inputs like these
        placeholders: where that pays as blocks, by which it runs from then on."""
        gradient = self.gradient
        executables: list[tuple[Any, Sequence[Any]]] = [(self.forward, inputs)]
        if gradient.executable is not None:
            kept = [inputs[i] for i in gradient.kept_inputs]
            residuals = tuple(gradient.residual_avals), tuple(kept)
            executables.append((gradient.executable, (residuals, tuple(gradient.cotangent_avals))))
        return compilation(executables, self.cost.compiling)


def _copied(array: Any) -> jax.Array:
    """Copy an array to memory of its own, on the devices where it lies."""
    if len(array.sharding.device_set) > 1:
        return jax.device_put(array, array.sharding, may_alias=False)
    if targets.runs_on_cpu():  # by NumPy: it compiles nothing (18 ms a shape)
        return device_array(np.array(array))
    return jnp.array(array)


def _count_references_in_list() -> int:
    """Return the getrefcount of an array held by its cell and by a list."""
    probe = Storage(np.empty(0), None)
    held = [probe.cell]
    return getrefcount(held[0])


_SOLE = _count_references_in_list()


#: What a function whose call runs eagerly for it says once.
WHY = (
    "two of the tensors that it reads or writes lie on the same memory outside (one NumPy array, "
    "buffer or file), and it writes to it"
)


class SharedOutside(Exception):
    """A program was about to write to memory that another of its cells lies on. Nothing was done.
    Never seen by users: the call runs eagerly.

    Memory that several cells of one program share outside of the package.

    Two tensors over one NumPy array (or buffer, memory map, DLPack capsule) are two cells to a
    program, which reads all before it writes any. Where such memory is written to, the call runs
    eagerly.
    """


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


# -------------------------------------------------------------------------------------------------
# `Draft` makes a `Program` of what a trace found out.


class Draft:
    """A program that is traced and not built yet.

    What tells whether it fits a call is known, and holds none of the trace's tracers. The rest is
    work on equations alone, which any thread does: `program`.

    Attributes:
      guards, numbers: those of the program.
      cost: as of the trace, no loop rolled up: no less than what compiling the program takes.
    """

    def __init__(
        self,
        results: TraceResults,
        capture: Capture,
        closed: Any,
        n_forward: int,
        sources: dict[int, InputSource],
        arguments: Sequence[Tensor],
        as_themselves: Iterable[int],
    ) -> None:
        """Collect the guards. ``sources`` has the source of each constant of ``closed`` that is an
        input, by its id. ``arguments`` are the tensors of the call; those ``as_themselves`` were
        captured as state from outside too."""
        self._results = results
        self._closed, self._n_forward = closed, n_forward
        self._name, self._ranks = capture.name, capture.ranks
        self._constants = _Constants(closed, sources)
        self._inputs = self._constants.inputs([getter for getter, _ in capture.per_call.getters])
        self._random = capture.per_call.generators()
        is_placed = not host().is_default and capture.ranks is None
        #: Where it runs, if JAX's default device is another one.
        self._device = to_jax(capture.place or CPU) if is_placed else None
        self.guards = _guards(results, capture, self._inputs, arguments, as_themselves)
        self.numbers = results.numbers
        self.cost = first_calls.whole_program(closed.jaxpr, capture.n_made)
        self._program: Program | None = None

    @property
    def cacheable(self) -> bool:
        """Whether it may run again."""
        return self._results.cacheable

    @property
    def why_not(self) -> str:
        """Why it may not."""
        return self._results.why_not

    @property
    def changes_structure(self) -> bool:
        """Whether it may not only because the body changed the structure of modules."""
        return self._results.changes_structure

    def do_not_keep(self, why: str) -> None:
        """Mark it as one for this call alone."""
        self._results.do_not_keep(why)
        if self._program is not None:
            self._program = replace(self._program, cacheable=False, why_not=why)

    def numbers_of(self, leaves: Any) -> Any:
        """Return the numbers of a call, as `Program.numbers_of` does."""
        return self.numbers.evaluate(leaves) if self.numbers else ()

    def placeholders(
        self, arguments: Sequence[Tensor], drawn: Sequence[Any], numbers: Any
    ) -> list[Any]:
        """Return what stands for the inputs of the traced call in a program that is compiled before
        it is called, and hold none of their arrays any more."""
        arrays = self._constants.arrays_of_cells(self._closed)
        arrays += [value.find(arguments, drawn, numbers) for value in self._inputs.values]
        self._closed = self._constants.without_arrays(self._closed)
        return list(map(placeholder, arrays))

    def program(self) -> Program:
        """Build the program: once, by one thread."""
        if self._program is None:
            self._program = self._built()
        return self._program

    def _built(self) -> Program:
        """Lift the jaxpr's constants to inputs, and cut the backward off."""
        results, constants, ranks = self._results, self._constants, self._ranks
        closed, outside = self._closed, constants.outside()
        agreed = agreement(closed, outside.cotangents, ranks)
        closed, n_forward, sites, *words = checked(
            closed, self._n_forward, outside.cotangents, agreed
        )
        if ranks is None:  # what the ranks compare stays as it is
            closed = rolled(closed, outside, self._name)
        constants.add_of(closed)
        split = partition(
            closed.jaxpr,
            n_forward,
            constants.variables(*INPUT_KINDS),
            constants.variables(ConstantArray),
            constants.cotangents(),
            len(results.cotangent_avals),
        )
        # Inputs that an output overwrites: their memory can be given up.
        kept = set(split.residual_inputs)
        written = set(results.written)
        cells = constants.sources(FixedCell, SlotCell, ArgumentCell)
        donated = tuple(i for i, cell in enumerate(cells) if cell in written and i not in kept)
        order = each_in_its_memory(results.written, [cells[i] for i in donated])
        outputs = split.forward.outvars
        outvars = [*(outputs[o] for o in order), *outputs[len(order) :]]
        forward = split.forward.replace(outvars=outvars)
        bound = [source.array for source in constants.sources(ConstantArray)]
        if ranks is not None:  # a part of the text that the ranks compare
            bound = [np.asarray(x) for x in bound]
        given_up = [forward.invars[len(bound) + i] for i in donated]
        executable = compiled(
            updates_last(forward, given_up, lambda jaxpr: evaluator(jaxpr, bound)),
            forward,
            donated,
            ranks,
            self._name,
            constants.drawn(),
        )
        if not (results.written or words[0] or split.backward or ranks):
            executable = first_calls.by_numpy_where_dear(executable, forward, bound, self._name)
        parts = [forward] if split.backward is None else [forward, split.backward[0]]
        cost = self.cost.of_parts(parts)
        shares = ranks is None and may_be_shared(cost)
        if shares:
            executable = Tiers(executable, forward, donated, bound, self._name, _block)
        of_call, of_backward = (
            Words(self._name, sites, targets.is_cpu()) if has else None for has in words
        )
        if self._device is not None:
            executable = Placed(executable, self._device)
        return Program(
            forward=executable,
            inputs=replace(self._inputs, donated=donated),
            outputs=_outputs(
                results, [results.written[o] for o in order], _on_host(forward, results, ranks)
            ),
            gradient=Gradient(
                cotangent_avals=results.cotangent_avals,
                behind=results.behind,
                boundary=results.boundary,
                when=results.when,
                kept_inputs=tuple(split.residual_inputs),
                residual_avals=[_aval(v.aval) for v in outputs[n_forward:]],
                executable=_backward(split, bound, self._name, ranks, shares),
                words=of_backward,
            ),
            words=of_call,
            generators=Generators(self._random) if of_call and self._random else None,
            gradient_slots=GradientSlots.of(results.slot_outputs) if of_call else None,
            guards=self.guards,
            numbers=results.numbers,
            prints=results.prints,
            updates=bool(results.written or results.slot_outputs or results.outside),
            retrace=results.retrace,
            capture_seconds=results.capture_seconds,
            cost=cost,
            cacheable=results.cacheable,
            why_not=results.why_not,
            changes_structure=results.changes_structure,
        )


def _backward(split: Split, bound: list[Any], name: str, ranks: Any, shares: bool) -> Any:
    """Return the executable of the backward, None where there is none; ``shares``: one that may run
    by blocks."""
    if split.backward is None:
        return None
    (jaxpr, used), name = split.backward, f"backward of {name}"
    whole = compiled(backward_evaluator(split, bound), jaxpr, (), ranks, name)
    return Tiers(whole, jaxpr, (), bound, name, _block, flattening(used)) if shares else whole


def _block(block: ProgramBlock, name: str) -> Any:
    given_up = [block.jaxpr.invars[i] for i in block.donated]
    function = updates_last(block.jaxpr, given_up, lambda jaxpr: evaluator(jaxpr, []))
    return compiled(function, block.jaxpr, block.donated, name=name)


def _on_host(forward: Any, results: TraceResults, ranks: Any) -> frozenset[int]:
    """Return which of the results become host values at once: those of one number, where the
    program is over when its call is. Sizes alone decide, so that runs repeat."""
    if ranks is not None or not targets.runs_on_cpu() or not first_calls.is_brief(forward):
        return frozenset()
    first = len(results.written)
    made = enumerate(forward.outvars[first : first + results.n_made])
    return frozenset(i for i, v in made if math.prod(v.aval.shape) == 1)


def _outputs(results: TraceResults, written: list[CellSource], on_host: frozenset[int]) -> Outputs:
    cells = [where.storage for where in written if isinstance(where, FixedCell)]
    return Outputs(
        written=written,
        written_cells=cells if len(cells) == len(written) else None,
        n_made=results.n_made,
        on_host=on_host,
        ordinary=results.ordinary,
        slots=results.slot_outputs,
        slot_conditions=results.slot_conditions,
        flags=results.flags,
        result=results.result,
        changes=results.changes,
        outside=results.outside,
        is_followed=results.is_followed,
        repeats=results.repeats,
        views=results.views,
        attributes=results.attributes,
        kept=results.kept,
    )


def _guards(
    results: TraceResults,
    capture: Capture,
    inputs: Inputs,
    arguments: Sequence[Tensor],
    as_themselves: Iterable[int],
) -> GuardSet:
    found = guards_of(
        capture, arguments, sorted(as_themselves), inputs.cells, results.flags, results.written
    )
    for slot, _ in results.slot_outputs:
        if not slot.of_tensor:
            rebound_slots.add(slot.owner, slot.name)
    guards = GuardSet(found, merged)
    for guard in guards.of(SlotGuard):
        guard.slot.initial = None  # gradients of the first call would live as long as it
    return guards


class _Constants:
    """The constants of a jaxpr, grouped by what they are."""

    def __init__(self, closed: Any, sources: dict[int, InputSource]) -> None:
        #: By kind: the source, the variable and the aval of each.
        self._of: dict[type[InputSource], list[tuple[Any, Any, Any]]] = {}
        self._known: set[Any] = set()
        self._add(closed, sources)

    def _add(self, closed: Any, sources: Mapping[int, InputSource]) -> None:
        for variable, array in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            if variable not in self._known:
                self._known.add(variable)
                source = sources.get(id(array)) or ConstantArray(array)
                self._of.setdefault(type(source), []).append((source, variable, _aval(array)))

    def add_of(self, closed: Any) -> None:
        """Add the constants that a jaxpr made of this one has besides."""
        self._add(closed, {})

    def arrays_of_cells(self, closed: Any) -> list[Any]:
        """Return the arrays of the inputs that are cells, in their order."""
        given = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
        return [given[v] for v in self.variables(FixedCell, SlotCell, ArgumentCell)]

    def without_arrays(self, closed: Any) -> Any:
        """Return the jaxpr without the arrays of its inputs, which take no memory then."""
        inputs = {v: aval for _, v, aval in self._all(k for k in self._of if k != ConstantArray)}
        consts = [
            np.broadcast_to(np.zeros((), inputs[v].dtype), inputs[v].shape) if v in inputs else c
            for v, c in zip(closed.jaxpr.constvars, closed.consts, strict=True)
        ]
        return close(closed.jaxpr, consts)

    def outside(self) -> Outside:
        """Return which of them are state, and which cotangents."""
        everything = self._all(self._of)
        return Outside(
            frozenset(v for source, v, _ in everything if source.is_state),
            frozenset(v for source, v, _ in everything if isinstance(source, CotangentInput)),
        )

    def _all(self, kinds: Iterable[type[InputSource]]) -> list[tuple[Any, Any, Any]]:
        return [entry for kind in kinds for entry in self._of.get(kind, ())]

    def variables(self, *kinds: type[InputSource]) -> list[Any]:
        return [variable for _, variable, _ in self._all(kinds)]

    def sources(self, *kinds: type[InputSource]) -> list[Any]:
        return [source for source, _, _ in self._all(kinds)]

    def cotangents(self) -> dict[int, Any]:
        """Return the variables of the cotangents, by their numbers."""
        return {source.index: v for source, v, _ in self._all((CotangentInput,))}

    def drawn(self) -> frozenset[int]:
        """Return the positions of the inputs that are random numbers."""
        found = self.sources(*INPUT_KINDS)
        return frozenset(i for i, source in enumerate(found) if isinstance(source, PerCallValue))

    def inputs(self, getters: list[Callable[[], Any]]) -> Inputs:
        return Inputs(
            cells=[source.storage for source in self.sources(FixedCell)],
            moving=self.sources(SlotCell, ArgumentCell),
            getters=getters,
            values=self.sources(PerCallValue, TracedNumber, ViewOffset),
            avals=[aval for _, _, aval in self._all(INPUT_KINDS)],
            sources=self.sources(*INPUT_KINDS),
            donated=(),
        )


def _aval(array: Any) -> Any:
    weak = getattr(array, "weak_type", False)
    return jax.ShapeDtypeStruct(array.shape, array.dtype, weak_type=weak)
