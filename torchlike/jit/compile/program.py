"""Program: one captured graph, compiled, and how to run it on the cells of the moment."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Sequence
from sys import getrefcount
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core.storage import Storage, device_array
from torchlike._core.tape import Edge, gradient_edge
from torchlike._core.tensor import Tensor
from torchlike._core.trees import unflatten
from torchlike.autograd.partial import When
from torchlike.jit.capture import given
from torchlike.jit.capture.capture import Capture
from torchlike.jit.capture.replayed_effects import Effect
from torchlike.jit.capture.scalars import Table
from torchlike.jit.capture.slots import Slot, rebound_slots
from torchlike.jit.compile import partitioner
from torchlike.jit.compile.donation import each_in_its_memory, updates_last
from torchlike.jit.compile.generated_call import guard, written_out
from torchlike.jit.compile.node import node_of_call
from torchlike.jit.compile.output_templates import (
    Anew,
    GivenContainer,
    NumberTemplate,
    Template,
    build,
    number,
    once_each,
)
from torchlike.jit.compile.scheduling import compiled
from torchlike.jit.compile.warmup import like
from torchlike.jit.guards.collect import guards_of
from torchlike.jit.guards.guard import GuardSet
from torchlike.jit.guards.slots import SlotGuard


class Ran(NamedTuple):
    """One run of a program: what came out, and what went in."""

    outputs: Sequence[Any]
    #: Inputs kept for backward.
    kept: list[Any]
    arrays: list[Any]
    arguments: Sequence[Tensor]
    #: All host values of the call, used or not.
    drawn: Sequence[Any]


class Program:
    """A compiled capture.

    Inputs are the constants of the jaxpr that turned out to be cells, host values or cotangents;
    outputs are the cells written, the storages of returned and kept tensors, and gradients.
    """

    def __init__(self) -> None:
        self.fixed: list[Storage] = []
        self.slot_inputs: list[Slot] = []
        self.argument_inputs: list[int] = []
        self.getters: list[Callable[[], Any]] = []
        self.used_getters: list[int] = []
        #: Numbers among the arguments, and which of the numbers made of them are inputs.
        self.numbers: Table | given.CallValues | None = None
        #: Traces the function once more for create_graph, and what that gave.
        self.retrace: Callable[[Ran], Any] | None = None
        self.double: Any = None
        self.used_numbers: list[int] = []
        #: Numbers of the offsets of views: (which argument, which of its view's numbers).
        self.offsets: list[tuple[int, int]] = []
        #: What the program depends on besides the call's key.
        self.guards = GuardSet(())
        #: Leaves (or which arguments they are) whose requires_grad is changed: from, to.
        self.flags: list[tuple[Any, Any, Any]] = []
        self.slot_outputs: list[tuple[Slot, Template | None]] = []
        #: Which of these are None unless a bool says so, one of the storages made.
        self.slot_conditions: dict[int, int] = {}
        #: Whether a tensor is given back in more than one place.
        self.repeats = False
        #: Which tensors given back are views of which: (view, base, what says how it was made).
        self.views: list[tuple[Template, Template, Any]] = []
        #: What tensors given back hold besides: whose, under which name (``_grad``, or one of the
        #: user's), a leaf like those of the result.
        self.held: list[tuple[Template, str, Any]] = []
        #: Tensors that the body put somewhere outside, where no later call can put its own.
        self.kept: list[Template] = []
        self.written: list[tuple[str, Any]] = []
        #: The storages written, where they are the same at each call.
        self.written_cells: list[Storage] | None = None
        self.n_made = 0
        #: What the body recorded in Python's objects, for the later calls.
        self.effects: list[Effect] = []
        #: What the function returned: templates of its leaves, and their structure (trees.py).
        self.result: Any = None
        #: Containers among the arguments that it changes, by their places among the numbers of a
        #: call: what is in them stands behind the result (see ``given``).
        self.changes: tuple[int, ...] = ()
        self.cotangent_avals: list[Any] = []
        #: For each cotangent, the others whose outputs were computed from its own, as bits.
        self.behind: list[int] = []
        self.boundary: list[Any] = []
        #: For each edge of the boundary, the cotangents of which there must be one, and for each
        #: whether (True) or under which condition, a flag behind the gradients, it counts. Empty
        #: where a Function gives no gradient: then backward has none.
        self.when: list[When] = []
        self.forward: Any = None
        self.backward: Any = None
        #: `backward` under a transform, once one asked for it.
        self.for_boxes: dict[str, Any] = {}
        self.residual_inputs: tuple[int, ...] = ()
        self.donated: tuple[int, ...] = ()
        self.lock = threading.Lock()
        #: When the function last ran this program, in calls.
        self.used = 0
        #: ``steady(arguments, numbers)``, what ``call`` gives or UNFIT, and ``guard(arguments)``,
        #: which is True only if ``fits`` is: from the second call on. See generated_call.py.
        self.steady: Any = None
        self.guard: Callable[..., Any] | None = None
        #: ``recognize(args, kwargs, current)`` for calls like the one before: None before
        #: there was one, False where there cannot be. See inline_cache.py.
        self.recognize: Any = None
        #: Shapes and dtypes of the inputs, and where each comes from.
        self.input_avals: list[Any] = []
        self.input_sources: list[tuple[str, Any]] = []
        #: What the forward keeps for the backward, besides inputs.
        self.residual_avals: list[Any] = []
        #: Seconds that the run of the Python body took.
        self.capture_seconds = 0.0
        self.cacheable = True
        #: Whether it is not only because the body changed the structure of modules or optimizers,
        #: which it may do once.
        self.changes_structure = False
        self.why_not = ""

    # -- guards ------------------------------------------------------------------------------------

    def take_for_granted(
        self, capture: Capture, arguments: Sequence[Tensor], as_themselves: Iterable[int]
    ) -> None:
        """Remember what the capture took for granted, as guards."""
        found = guards_of(
            capture, arguments, sorted(as_themselves), self.fixed, self.flags,
            [kind for kind, _ in self.written],
        )  # fmt: skip
        for slot, _ in self.slot_outputs:
            if not slot.of_tensor:
                rebound_slots.add(slot.owner, slot.name)
        self.guards = GuardSet(found)
        for held in self.guards.of(SlotGuard):
            held.slot.initial = None  # gradients of the first call would live as long as it

    @property
    def n_residuals(self) -> int:
        return len(self.residual_avals)

    def fits(self, arguments: Sequence[Tensor]) -> bool:
        """Whether everything the capture took for granted still holds."""
        return self.guards.check(arguments)

    def difference(self, arguments: Sequence[Tensor]) -> str:
        """Why this program does not fit a call with the same key, in words."""
        return self.guards.explain(arguments)

    # -- running -----------------------------------------------------------------------------------

    def storages(self, arguments: Sequence[Tensor]) -> list[Storage]:
        """The storages behind the inputs, now."""
        found = self.fixed
        if self.slot_inputs:
            found = found + [slot.value(arguments)._storage for slot in self.slot_inputs]
        if self.argument_inputs:
            found = found + [arguments[i]._storage for i in self.argument_inputs]
        return found

    def write_out(self) -> Any:
        """Write the functions for the calls from now on: 0.5 ms for 10 cells, 2.5 for 100."""
        self.guard = guard(self.guards)
        self.steady = written_out(self)
        return self.steady

    def call(self, arguments: Sequence[Tensor], numbers: Any) -> Any:
        """Run on the cells of the moment, the general way; gives the function's result."""
        return deliver(self, arguments, self.run(arguments, None, numbers), None, numbers)

    def run(
        self, arguments: Sequence[Tensor], drawn: list[Any] | None = None, numbers: Any = ()
    ) -> Ran:
        """Execute on the cells of the moment."""
        storages = self.storages(arguments)
        arrays: list[Any] = [
            s.cell if s.host is None and type(s.cell) is not np.ndarray else s.concrete()
            for s in storages
        ]
        # Held by anything else than its cell and this list (a node, a view, a handle)?
        for i in [i for i in self.donated if getrefcount(arrays[i]) != _SOLE]:
            # On the CPU a copy by NumPy: it compiles nothing (18 ms a shape).
            on_cpu = jax.default_backend() == "cpu"
            arrays[i] = device_array(np.array(arrays[i])) if on_cpu else jnp.array(arrays[i])
        if self.getters:
            if drawn is None:  # the first run uses what the capture itself drew
                drawn = [getter() for getter in self.getters]
            arrays += [drawn[i] for i in self.used_getters]
        if self.used_numbers:
            arrays += [numbers[i] for i in self.used_numbers]
        if self.offsets:
            arrays += self.numbers_of_offsets(arguments)
        outputs = self.forward(*arrays)
        kept = [arrays[i] for i in self.residual_inputs]
        return Ran(outputs, kept, arrays, arguments, drawn or ())

    def numbers_of_offsets(self, arguments: Sequence[Tensor]) -> list[int]:
        """Where the views among the arguments begin whose offset is no part of the key."""
        views: list[Any] = [arguments[i]._view for i, _ in self.offsets]
        return [view.dynamic[k] for view, (_, k) in zip(views, self.offsets, strict=True)]

    def compiling(self, arguments: Sequence[Tensor], drawn: Sequence[Any], numbers: Any) -> Any:
        """What compiles the program, in any thread, for calls like one with these inputs. It holds
        none of their arrays."""
        arrays: list[Any] = [s.concrete() for s in self.storages(arguments)]
        arrays += [drawn[i] for i in self.used_getters] + [numbers[i] for i in self.used_numbers]
        arrays += self.numbers_of_offsets(arguments)
        inputs = list(map(like, arrays))

        def work() -> None:
            self.forward.lower(*inputs).compile()
            if self.backward is not None:
                kept = [inputs[i] for i in self.residual_inputs]
                residuals = tuple(self.residual_avals), tuple(kept)
                self.backward.lower(residuals, tuple(self.cotangent_avals)).compile()

        return work

    def run_backward(self, residuals: Any, cotangents: Sequence[Any]) -> Any:
        return self.backward(residuals, tuple(cotangents))


def _count_references() -> int:
    """What getrefcount says of an array held by its cell and by a list."""
    probe = Storage(object(), None)
    held = [probe.cell]
    return getrefcount(held[0])


_SOLE = _count_references()


def _target(where: tuple[str, Any], arguments: Sequence[Tensor]) -> Storage:
    """The storage that a written output goes to: a fixed one, a slot's, an argument's."""
    kind, what = where
    if kind == "fixed":
        return what
    return (what.value(arguments) if kind == "slot" else arguments[what])._storage


def deliver(
    program: Program, arguments: Sequence[Tensor], ran: Ran, made: list[Storage] | None,
    numbers: Any = (), known: dict[int, Tensor] | None = None,
) -> Any:  # fmt: skip
    """Write outputs into cells and slots, and build the result.

    ``made`` are the storages of the capture itself on the first call, None on later ones, and
    ``known`` its tensors (see `Returned.cut`).
    """
    n = len(program.written)
    outputs = ran.outputs
    cells = program.written_cells
    if cells is None:
        cells = [_target(where, arguments) for where in program.written]
    for storage, array in zip(cells, outputs, strict=False):
        if storage.host is None:
            storage.cell = array
        else:
            storage._write_host(array)
        storage.version += 1
    if made is None:
        made = [Storage(a) for a in outputs[n : n + program.n_made]]
    else:
        for storage, array in zip(made, outputs[n : n + program.n_made], strict=True):
            storage.cell = array
    node = None
    # What was recorded for a leaf reaches it, whether the flag was on before or is on now.
    _switch(program, arguments, True)
    give = once_each(build, known) if program.repeats or known else build
    if program.cotangent_avals:
        residuals = (tuple(outputs[n + program.n_made :]), tuple(ran.kept))
        edges = [
            gradient_edge(give(b, arguments, made, None)) if type(b) is Template
            else _edge(b, arguments)
            for b in program.boundary
        ]  # fmt: skip
        node = node_of_call(program, edges, residuals, ran)
    # Before any slot is bound: a value may be what another slot holds.
    bound = [
        (slot, None if template is None else give(template, arguments, made, node))
        for slot, template in program.slot_outputs
    ] if program.slot_outputs else []  # fmt: skip
    for i, condition in program.slot_conditions.items():
        if not bool(made[condition].cell):
            bound[i] = bound[i][0], None
    _switch(program, arguments, False)
    for template in program.kept:
        give(template, arguments, made, node)
    leaves, structure = program.result
    n_leaves = len(leaves)
    if program.held:
        leaves = [*leaves, *(leaf for _, _, leaf in program.held)]
    found = [
        give(leaf, arguments, made, node) if isinstance(leaf, Template)
        else number(leaf, made, numbers) if isinstance(leaf, NumberTemplate)
        else copy.deepcopy(leaf.example) if type(leaf) is Anew
        else numbers[leaf.index] if type(leaf) is GivenContainer else leaf
        for leaf in leaves
    ]  # fmt: skip
    for of_view, of_base, made_by in program.views:
        view = give(of_view, arguments, made, node)
        view._base, view._made_by = give(of_base, arguments, made, node), made_by
    if program.held:
        for (whose, name, _), value in zip(program.held, found[n_leaves:], strict=True):
            vars(give(whose, arguments, made, node))[name] = value
        del found[n_leaves:]
    for slot, value in bound:
        slot.bind(arguments, value)
    result = found[0] if structure is None else unflatten(structure, found)
    return given.write(program.changes, numbers, result) if program.changes else result


def _switch(program: Program, arguments: Sequence[Tensor], requires_grad: bool) -> None:
    """Switch on (or off) the flags of the leaves that the body has left so."""
    for leaf, _, flag in program.flags:
        if flag is requires_grad:
            (leaf if isinstance(leaf, Tensor) else arguments[leaf]).requires_grad_(flag)


def _edge(boundary: Any, arguments: Sequence[Tensor]) -> Edge | None:
    if isinstance(boundary, int):
        return gradient_edge(arguments[boundary])
    if isinstance(boundary, Slot):
        return gradient_edge(boundary.value(arguments))
    return gradient_edge(boundary) if isinstance(boundary, Tensor) else boundary


def _source_key(source: tuple[str, Any]) -> tuple[str, int]:
    kind, what = source
    return kind, what if kind == "argument" else id(what)


#: Where inputs come from, in the order in which the compiled function takes them.
_INPUTS = ("fixed", "slot", "argument", "host", "number", "offset")


def _aval(array: Any) -> Any:
    weak = getattr(array, "weak_type", False)
    return jax.ShapeDtypeStruct(array.shape, array.dtype, weak_type=weak)


def compile_program(
    program: Program, capture: Capture, closed: Any, n_forward: int, sources: dict[int, Any]
) -> list[Any]:
    """Lift the jaxpr's constants to inputs and compile. Gives the first call's input arrays.

    ``sources`` maps id(constant) to ("fixed", storage), ("slot", slot), ("argument", i),
    ("host", i), ("number", i), ("offset", (argument, i)) or ("cotangent", i).
    """
    groups: dict[str, list[tuple[Any, Any]]] = {k: [] for k in (*_INPUTS, "cotangent", "constant")}
    for var, const in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        kind, what = sources.get(id(const), ("constant", const))
        groups[kind].append((var, (what, const)))
    groups["cotangent"].sort(key=lambda pair: pair[1][0])
    program.fixed = [what for _, (what, _) in groups["fixed"]]
    program.slot_inputs = [what for _, (what, _) in groups["slot"]]
    program.argument_inputs = [what for _, (what, _) in groups["argument"]]
    sources_of = [(k, what) for k in _INPUTS
                  for _, (what, _) in groups[k]]  # fmt: skip
    program.input_sources = sources_of
    program.used_getters = [what for _, (what, _) in groups["host"]]
    program.used_numbers = [what for _, (what, _) in groups["number"]]
    program.offsets = [what for _, (what, _) in groups["offset"]]
    program.getters = [getter for getter, _ in capture.host_values]
    inputs = [groups[k] for k in _INPUTS]
    input_vars = [var for group in inputs for var, _ in group]
    first_arrays = [const for group in inputs for _, (_, const) in group]
    program.input_avals = list(map(_aval, first_arrays))
    constant_vars = [var for var, _ in groups["constant"]]
    constants = [what for _, (what, _) in groups["constant"]]
    cotangent_vars = {what: var for var, (what, _) in groups["cotangent"]}

    # Inputs that an output overwrites: their buffers can be given up.
    written = {_source_key(where) for where in program.written}
    keys = [_source_key((kind, what)) for kind in ("fixed", "slot", "argument")
            for _, (what, _) in groups[kind]]  # fmt: skip
    donated = [i for i, key in enumerate(keys) if key in written]

    split = partitioner.partition(
        closed.jaxpr, n_forward, input_vars, constant_vars, cotangent_vars,
        len(program.cotangent_avals),
    )  # fmt: skip
    kept_inputs = set(split.residual_inputs)
    program.donated = tuple(sorted(i for i in donated if i not in kept_inputs))
    order = each_in_its_memory(
        [_source_key(where) for where in program.written], [keys[i] for i in program.donated]
    )
    program.written = [program.written[o] for o in order]
    if all(kind == "fixed" for kind, _ in program.written):
        program.written_cells = [what for _, what in program.written]
    outputs = split.forward.outvars
    forward = split.forward.replace(outvars=[*(outputs[o] for o in order), *outputs[len(order) :]])
    program.residual_inputs = tuple(split.residual_inputs)
    program.residual_avals = [_aval(v.aval) for v in outputs[n_forward:]]
    given_up = [forward.invars[len(constants) + i] for i in program.donated]
    program.forward = compiled(
        updates_last(forward, given_up, lambda jaxpr: partitioner.evaluator(jaxpr, constants)),
        forward.eqns,
        program.donated,
    )
    if split.backward is not None:
        program.backward = compiled(
            partitioner.backward_evaluator(split, constants), split.backward[0].eqns
        )
    return first_arrays
