"""Compiles what a trace found out to a `Program`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from torchlike._core.devices import CPU, to_jax
from torchlike._jit.capture.capture import Capture
from torchlike._jit.capture.collect import guards_of
from torchlike._jit.guards.guard import GuardSet
from torchlike._jit.guards.modules import SlotGuard
from torchlike._jit.guards.sources import (
    INPUT_KINDS,
    ArgumentCell,
    CellSource,
    ConstantArray,
    CotangentInput,
    FixedCell,
    HostValue,
    InputSource,
    SlotCell,
    TracedNumber,
    ViewOffset,
    rebound_slots,
)
from torchlike._jit.program.checks import agreement, checked
from torchlike._jit.program.delivery import Generators, Gradient, Inputs, Outputs
from torchlike._jit.program.donation import each_in_its_memory, updates_last
from torchlike._jit.program.program import Program
from torchlike._jit.trace import partitioner
from torchlike._jit.trace.outputs import TraceResults
from torchlike._runtime import targets
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.late_checks import Words
from torchlike._runtime.one_device import Placed
from torchlike._runtime.rolling.roll import Outside, rolled
from torchlike._runtime.scheduling import compiled
from torchlike.tensor import Tensor


def build(
    results: TraceResults,
    capture: Capture,
    closed: Any,
    n_forward: int,
    sources: dict[int, InputSource],
    arguments: Sequence[Tensor],
    as_themselves: Iterable[int],
) -> Program:
    """Lift the jaxpr's constants to inputs, compile, and collect the guards.

    ``sources`` has the source of each constant that is an input, by its id. ``arguments`` are the
    tensors of the call; those ``as_themselves`` were captured as state from outside too.
    """
    outside, ranks = _outside(closed, sources), capture.ranks
    agreed = agreement(closed, outside.cotangents, ranks)
    closed, n_forward, sites, *words = checked(closed, n_forward, outside.cotangents, agreed)
    if ranks is None:  # what the ranks compare stays as it is
        closed = rolled(closed, outside, capture.name)
    constants = _Constants(closed, sources)
    split = partitioner.partition(
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
    forward = split.forward.replace(outvars=[*(outputs[o] for o in order), *outputs[len(order) :]])
    bound = [source.array for source in constants.sources(ConstantArray)]
    if ranks is not None:  # a part of the text that the ranks compare
        bound = [np.asarray(x) for x in bound]
    given_up = [forward.invars[len(bound) + i] for i in donated]
    executable = compiled(
        updates_last(forward, given_up, lambda jaxpr: partitioner.evaluator(jaxpr, bound)),
        forward,
        donated,
        ranks,
        capture.name,
        constants.drawn(),
    )
    backward: Any = None
    if split.backward is not None:
        evaluate = partitioner.backward_evaluator(split, bound)
        backward = compiled(evaluate, split.backward[0], (), ranks, f"backward of {capture.name}")
    inputs = constants.inputs([getter for getter, _ in capture.host.getters], donated)
    of_call, of_backward = (
        Words(capture.name, sites, targets.is_cpu()) if has else None for has in words
    )
    if not host().is_default and ranks is None:
        executable = Placed(executable, to_jax(capture.place or CPU))
    return Program(
        forward=executable,
        inputs=inputs,
        outputs=_outputs(results, [results.written[o] for o in order]),
        gradient=Gradient(
            cotangent_avals=results.cotangent_avals,
            behind=results.behind,
            boundary=results.boundary,
            when=results.when,
            kept_inputs=tuple(split.residual_inputs),
            residual_avals=[_aval(v.aval) for v in outputs[n_forward:]],
            executable=backward,
            words=of_backward,
        ),
        words=of_call,
        generators=Generators(found) if of_call and (found := capture.host.generators()) else None,
        guards=_guards(results, capture, inputs, arguments, as_themselves),
        numbers=results.numbers,
        effects=results.effects,
        updates=bool(results.written or results.slot_outputs),
        retrace=results.retrace,
        capture_seconds=results.capture_seconds,
        cacheable=results.cacheable,
        why_not=results.why_not,
        changes_structure=results.changes_structure,
    )


def _outputs(results: TraceResults, written: list[CellSource]) -> Outputs:
    cells = [where.storage for where in written if isinstance(where, FixedCell)]
    return Outputs(
        written=written,
        written_cells=cells if len(cells) == len(written) else None,
        n_made=results.n_made,
        ordinary=results.ordinary,
        slots=results.slot_outputs,
        slot_conditions=results.slot_conditions,
        flags=results.flags,
        result=results.result,
        changes=results.changes,
        repeats=results.repeats,
        views=results.views,
        held=results.held,
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
    guards = GuardSet(found)
    for guard in guards.of(SlotGuard):
        guard.slot.initial = None  # gradients of the first call would live as long as it
    return guards


class _Constants:
    """The constants of a jaxpr, grouped by what they are."""

    def __init__(self, closed: Any, sources: dict[int, InputSource]) -> None:
        #: By kind: the source, the variable and the array of each.
        self._of: dict[type[InputSource], list[tuple[Any, Any, Any]]] = {}
        for variable, array in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            source = sources.get(id(array)) or ConstantArray(array)
            self._of.setdefault(type(source), []).append((source, variable, array))

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
        return frozenset(i for i, source in enumerate(found) if isinstance(source, HostValue))

    def inputs(self, getters: list[Callable[[], Any]], donated: tuple[int, ...]) -> Inputs:
        return Inputs(
            cells=[source.storage for source in self.sources(FixedCell)],
            moving=self.sources(SlotCell, ArgumentCell),
            getters=getters,
            values=self.sources(HostValue, TracedNumber, ViewOffset),
            avals=[_aval(array) for _, _, array in self._all(INPUT_KINDS)],
            sources=self.sources(*INPUT_KINDS),
            donated=donated,
        )


def _outside(closed: Any, sources: dict[int, InputSource]) -> Outside:
    state, cotangents = set(), set()
    for variable, array in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        source = sources.get(id(array))
        if source is not None and source.is_state:
            state.add(variable)
        elif isinstance(source, CotangentInput):
            cotangents.add(variable)
    return Outside(frozenset(state), frozenset(cotangents))


def _aval(array: Any) -> Any:
    weak = getattr(array, "weak_type", False)
    return jax.ShapeDtypeStruct(array.shape, array.dtype, weak_type=weak)
