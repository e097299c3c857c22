"""What a program's executable takes and gives, and how a call puts outputs in their places."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from torchlike._core.storage import Storage
from torchlike._core.tape import Edge, gradient_edge
from torchlike._jit.capture import scalars
from torchlike._jit.capture.changes import Change
from torchlike._jit.capture.scalars import InputContainer
from torchlike._jit.guards.sources import CellSource, InputSource, Slot, ValueSource
from torchlike._jit.program.node import node_of_call
from torchlike._jit.trace.outputs import (
    FreshOutput,
    NumberTemplate,
    Template,
    build,
    number,
    once_each,
)
from torchlike._runtime import first_calls, mixed_operands
from torchlike._runtime.late_checks import Words
from torchlike._runtime.trees import unflatten
from torchlike.autograd.conditional_grad import When
from torchlike.tensor import Tensor, whole_dict


class Run(NamedTuple):
    """One run of a program: what came out, and what went in."""

    outputs: Sequence[Any]
    #: Inputs kept for backward.
    kept: list[Any]
    arrays: list[Any]
    arguments: Sequence[Tensor]
    #: All per-call values of the call, used or not.
    drawn: Sequence[Any]
    #: Puts random generators back, where a check of values may fail.
    undo: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The arrays that the executable takes, in this order, and where a call finds them."""

    #: Cells that are the same at each call, then where the others are found.
    cells: list[Storage]
    moving: list[CellSource]
    #: What provides the per-call values of a call, whether or not they are inputs.
    getters: list[Callable[[], Any]]
    #: Where the inputs behind the cells are found.
    values: list[ValueSource]
    #: Of all of them, shapes and dtypes, and where they are found.
    avals: list[Any]
    sources: list[InputSource]
    #: Which of them an output overwrites: their memory is given up.
    donated: tuple[int, ...]

    def storages(self, arguments: Sequence[Tensor]) -> list[Storage]:
        """Return the storages that are behind the inputs now."""
        if not self.moving:
            return self.cells
        return self.cells + [where.find(arguments) for where in self.moving]


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """What a call does with the arrays that the executable gives: first those that are written to
    cells, then those of ``n_made`` new storages, then the word of the checks of values (where
    there are any), then what is kept for backward."""

    #: The places whose cells are written.
    written: list[CellSource]
    #: The cells, where they are the same at each call.
    written_cells: list[Storage] | None
    n_made: int
    #: Which of those hold one number, of a program that is over when its call is: host values.
    on_host: frozenset[int]
    #: Which of those are of ordinary tensors, whose arrays leave the mesh that the program ran on.
    ordinary: tuple[int, ...]
    #: The slots that are bound, and to what; None to None.
    slots: list[tuple[Slot, Template | None]]
    #: Which of these are None unless a bool says so, one of the storages made.
    slot_conditions: dict[int, int]
    #: Leaves (or which arguments they are) whose ``requires_grad`` is changed: from, to.
    flags: list[tuple[Any, Any, Any]]
    #: What the function returned: templates of its leaves, and their structure (`trees`).
    result: tuple[list[Any], Any]
    #: Containers among the arguments that it changes, by their places among the numbers of a
    #: call: what is in them stands behind the result (see `scalars`).
    changes: tuple[int, ...]
    #: What it changes of Python's objects: what it leaves there stands behind the result, too.
    outside: tuple[Change, ...]
    #: Whether a result is followed by what is left in containers and objects.
    is_followed: bool
    #: Whether a tensor is given back in more than one place.
    repeats: bool
    #: Which tensors given back are views of which: (view, base, what says how it was made).
    views: list[tuple[Template, Template, Any]]
    #: What tensors given back hold besides: whose, under which name (``_grad``, or one of the
    #: user's), a leaf like those of the result.
    attributes: list[tuple[Template, str, Any]]
    #: Tensors that the body put somewhere outside, where no later call can put its own.
    kept: list[Template]


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """How a call joins the tape."""

    #: Of the results that require grad; empty where none does.
    cotangent_avals: list[Any]
    #: For each cotangent, the others whose outputs were computed from its own, as bits.
    behind: list[int]
    #: Where the gradients go.
    boundary: list[Any]
    #: For each edge of the boundary, the cotangents of which there must be one, and for each
    #: whether (True) or under which condition, a flag behind the gradients, it counts. Empty
    #: where a Function gives no gradient: then backward has none.
    when: list[When]
    #: What the forward keeps for the backward: inputs, and of its own outputs the shapes.
    kept_inputs: tuple[int, ...]
    residual_avals: list[Any]
    #: ``executable((residuals, inputs), cotangents)``.
    executable: Any
    #: What becomes of the word that it gives behind the gradients; None where it gives none.
    words: Words | None


# -------------------------------------------------------------------------------------------------
# Delivers a program's outputs: into cells and slots, and as the function's result.


def targets_of(outputs: Outputs, arguments: Sequence[Tensor]) -> list[Storage]:
    """Return the storages that a call writes to."""
    if outputs.written_cells is not None:
        return outputs.written_cells
    return [where.find(arguments) for where in outputs.written]


def write(cells: Sequence[Storage], outputs: Sequence[Any]) -> None:
    """Write a program's first outputs into the cells that they are for: `Storage.write`, written
    out, for outputs lie where the program put them, and a program may have hundreds of cells."""
    if mixed_operands.delivered.is_provided:
        mixed_operands.delivered(cells, outputs)
    for storage, array in zip(cells, outputs, strict=False):
        if storage.host is None:
            storage.cell = array
        else:
            storage._write_host(array)
        storage.version += 1


class CheckFailed(Exception):
    """A check of values failed in a call that changes Python's objects: nothing was done yet. Never
    seen by users: the call runs eagerly, and leaves what is left where it raises."""


def _look(words: Words, word: Any, undo: Callable[[], None] | None) -> None:
    try:
        words.read(word, undo)
    except Exception as error:
        raise CheckFailed from error


def deliver(
    program: Any,
    arguments: Sequence[Tensor],
    run: Run,
    made: list[Storage] | None,
    numbers: Any = (),
    known: dict[int, Tensor] | None = None,
) -> Any:
    """Write outputs into cells and slots, and build the result.

    ``made`` are the storages of the capture itself on the first call, None on later ones, and
    ``known`` its tensors (see `CapturedOutputs.cut`).
    """
    what, gradient = program.outputs, program.gradient
    n = len(what.written)
    outputs = run.outputs
    cells = targets_of(what, arguments)
    write(cells, outputs)
    words = program.words if made is None else None
    if words is not None and program.may_run_again:  # nothing is bound or changed yet
        _look(words, outputs[n + what.n_made], run.undo)
    if made is None:
        made = [
            Storage(on_host(a) if i in what.on_host else a)
            for i, a in enumerate(outputs[n : n + what.n_made])
        ]
    else:
        for storage, array in zip(made, outputs[n : n + what.n_made], strict=True):
            storage.cell = array
    for i in what.ordinary:
        mixed_operands.leave_mesh(made[i])
    node = None
    # What was recorded for a leaf reaches it, whether the flag was on before or is on now.
    _switch(what, arguments, True)
    give = once_each(build, known) if what.repeats or known else build
    if gradient.cotangent_avals:
        first = n + what.n_made + (program.words is not None)
        residuals = (tuple(outputs[first:]), tuple(run.kept))
        edges = [
            gradient_edge(give(b, arguments, made, None))
            if type(b) is Template
            else _edge(b, arguments)
            for b in gradient.boundary
        ]
        node = node_of_call(program, edges, residuals, run)
    bound = [
        (slot, None if t is None else give(t, arguments, made, node)) for slot, t in what.slots
    ]
    for i, condition in what.slot_conditions.items():
        if not bool(made[condition].cell):
            bound[i] = bound[i][0], None
    if words is not None and not program.may_run_again:
        undo = run.undo
        if program.gradient_slots is not None:
            undo = program.gradient_slots.undo(arguments, [value for _, value in bound], undo)
        words.add(outputs[n + what.n_made], undo, bool(what.on_host))
    _switch(what, arguments, False)
    for template in what.kept:
        give(template, arguments, made, node)
    leaves, structure = what.result
    n_leaves = len(leaves)
    if what.attributes:
        leaves = [*leaves, *(leaf for _, _, leaf in what.attributes)]
    found = [
        give(leaf, arguments, made, node)
        if isinstance(leaf, Template)
        else _plain(leaf, made, numbers)
        for leaf in leaves
    ]
    for of_view, of_base, made_by in what.views:
        view = give(of_view, arguments, made, node)
        view._base, view._made_by = give(of_base, arguments, made, node), made_by
    if what.attributes:
        for (whose, name, _), value in zip(what.attributes, found[n_leaves:], strict=True):
            whole_dict(give(whose, arguments, made, node))[name] = value
        del found[n_leaves:]
    for slot, value in bound:  # only now: a value may be what another slot holds
        slot.bind(arguments, value)
    result = found[0] if structure is None else unflatten(structure, found)
    if what.is_followed:
        return scalars.write(what.changes, what.outside, numbers, result)
    return result


def _plain(leaf: Any, made: list[Storage], numbers: Any) -> Any:
    """Return what a leaf of the result is that is no tensor."""
    if isinstance(leaf, NumberTemplate):
        return number(leaf, made, numbers)
    if type(leaf) is FreshOutput:
        return copy.deepcopy(leaf.example)
    return numbers[leaf.index] if type(leaf) is InputContainer else leaf


def on_host(array: Any) -> Any:
    """Return a result as a host value, which is waited for; as it is where cells hold none now, or
    it lies on several devices."""
    if array.sharding.num_devices > 1:
        return array
    values = np.asarray(array)
    return values if first_calls.takes(values) else array


def _switch(what: Outputs, arguments: Sequence[Tensor], requires_grad: bool) -> None:
    """Switch on (or off) the flags of the leaves that the body has left so."""
    for leaf, _, flag in what.flags:
        if flag is requires_grad:
            (leaf if isinstance(leaf, Tensor) else arguments[leaf]).requires_grad_(flag)


def _edge(boundary: Any, arguments: Sequence[Tensor]) -> Edge | None:
    if isinstance(boundary, int):
        return gradient_edge(arguments[boundary])
    if isinstance(boundary, Slot):
        return gradient_edge(boundary.value(arguments))
    return gradient_edge(boundary) if isinstance(boundary, Tensor) else boundary
