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
from torchlike._jit.guards.sources import rebound_slots
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

#: Where inputs come from, in the order in which the compiled function takes them.
_INPUTS = ("fixed", "slot", "argument", "host", "number", "offset")


def build(
    results: TraceResults,
    capture: Capture,
    closed: Any,
    n_forward: int,
    sources: dict[int, Any],
    arguments: Sequence[Tensor],
    as_themselves: Iterable[int],
) -> Program:
    """Lift the jaxpr's constants to inputs, compile, and collect the guards.

    ``sources`` maps id(constant) to ("fixed", storage), ("slot", slot), ("argument", i),
    ("host", i), ("number", i), ("offset", (argument, i)) or ("cotangent", i). ``arguments`` are
    the tensors of the call; those ``as_themselves`` were captured as state from outside too.
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
        constants.variables(*_INPUTS),
        constants.variables("constant"),
        dict(constants.of["cotangent"]),
        len(results.cotangent_avals),
    )
    # Inputs that an output overwrites: their memory can be given up.
    kept = set(split.residual_inputs)
    written = {source_key(where) for where in results.written}
    keys = [source_key(source) for source in constants.sources("fixed", "slot", "argument")]
    donated = tuple(i for i, key in enumerate(keys) if key in written and i not in kept)
    order = each_in_its_memory(
        [source_key(where) for where in results.written], [keys[i] for i in donated]
    )
    outputs = split.forward.outvars
    forward = split.forward.replace(outvars=[*(outputs[o] for o in order), *outputs[len(order) :]])
    bound = [what for what, _ in constants.of["constant"]]
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
    inputs = constants.inputs([getter for getter, _ in capture.host_values], donated)
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
        generators=Generators(found) if of_call and (found := capture.generators()) else None,
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


def _outputs(results: TraceResults, written: list[tuple[str, Any]]) -> Outputs:
    cells = [what for kind, what in written if kind == "fixed"]
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
    kinds = [kind for kind, _ in results.written]
    found = guards_of(capture, arguments, sorted(as_themselves), inputs.cells, results.flags, kinds)
    for slot, _ in results.slot_outputs:
        if not slot.of_tensor:
            rebound_slots.add(slot.owner, slot.name)
    guards = GuardSet(found)
    for guard in guards.of(SlotGuard):
        guard.slot.initial = None  # gradients of the first call would live as long as it
    return guards


class _Constants:
    """The constants of a jaxpr, grouped by what they are."""

    def __init__(self, closed: Any, sources: dict[int, Any]) -> None:
        #: By kind: what stands at the source, and the variable; the arrays in the same order.
        self.of: dict[str, list[tuple[Any, Any]]] = {
            kind: [] for kind in (*_INPUTS, "cotangent", "constant")
        }
        self._arrays: dict[str, list[Any]] = {kind: [] for kind in self.of}
        for variable, array in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            kind, what = sources.get(id(array), ("constant", array))
            self.of[kind].append((what, variable))
            self._arrays[kind].append(array)

    def variables(self, *kinds: str) -> list[Any]:
        return [variable for kind in kinds for _, variable in self.of[kind]]

    def drawn(self) -> frozenset[int]:
        """Return the positions of the inputs that are random numbers."""
        kinds = [kind for kind, _ in self.sources(*_INPUTS)]
        return frozenset(i for i, kind in enumerate(kinds) if kind == "host")

    def sources(self, *kinds: str) -> list[tuple[str, Any]]:
        return [(kind, what) for kind in kinds for what, _ in self.of[kind]]

    def inputs(self, getters: list[Callable[[], Any]], donated: tuple[int, ...]) -> Inputs:
        cells, slots, arguments, drawn, numbers, offsets = (
            [what for what, _ in self.of[kind]] for kind in _INPUTS
        )
        return Inputs(
            cells=cells,
            slots=slots,
            arguments=arguments,
            getters=getters,
            drawn=drawn,
            numbers=numbers,
            offsets=offsets,
            avals=[_aval(array) for kind in _INPUTS for array in self._arrays[kind]],
            sources=self.sources(*_INPUTS),
            donated=donated,
        )


def _outside(closed: Any, sources: dict[int, Any]) -> Outside:
    of: dict[str, set[Any]] = {}
    for variable, array in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        of.setdefault(sources.get(id(array), ("constant",))[0], set()).add(variable)
    state = of.get("fixed", set()) | of.get("slot", set())
    return Outside(frozenset(state), frozenset(of.get("cotangent", set())))


def source_key(source: tuple[str, Any]) -> tuple[str, int]:
    """Return a key by which a source can be looked up."""
    kind, what = source
    return kind, what if kind == "argument" else id(what)


def _aval(array: Any) -> Any:
    weak = getattr(array, "weak_type", False)
    return jax.ShapeDtypeStruct(array.shape, array.dtype, weak_type=weak)
