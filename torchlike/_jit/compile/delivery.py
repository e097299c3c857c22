"""Delivers a program's outputs: into cells and slots, and as the function's result."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from torchlike._core.storage import Storage
from torchlike._core.tape import Edge, gradient_edge
from torchlike._jit.capture import given
from torchlike._jit.capture.slots import Slot
from torchlike._jit.compile.layout import Outputs, Run
from torchlike._jit.compile.node import node_of_call
from torchlike._jit.compile.output_templates import (
    Anew,
    GivenContainer,
    NumberTemplate,
    Template,
    build,
    number,
    once_each,
)
from torchlike._runtime import mixed_operands
from torchlike._runtime.trees import unflatten
from torchlike.tensor import Tensor


def _target(where: tuple[str, Any], arguments: Sequence[Tensor]) -> Storage:
    """Return the storage that a written output goes to: a fixed one, a slot's, an argument's."""
    kind, what = where
    if kind == "fixed":
        return what
    return (what.value(arguments) if kind == "slot" else arguments[what])._storage


def targets_of(outputs: Outputs, arguments: Sequence[Tensor]) -> list[Storage]:
    """Return the storages that a call writes to."""
    if outputs.written_cells is not None:
        return outputs.written_cells
    return [_target(where, arguments) for where in outputs.written]


def write(cells: Sequence[Storage], outputs: Sequence[Any]) -> None:
    """Write a program's first outputs into the cells that they are for."""
    if mixed_operands.installed.delivered is not None:
        mixed_operands.installed.delivered(cells, outputs)
    for storage, array in zip(cells, outputs, strict=False):
        if storage.host is None:
            storage.cell = array
        else:
            storage._write_host(array)
        storage.version += 1


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
    if program.words is not None and made is None:
        program.words.add(outputs[n + what.n_made], run.undo)
    if made is None:
        made = [Storage(a) for a in outputs[n : n + what.n_made]]
    else:
        for storage, array in zip(made, outputs[n : n + what.n_made], strict=True):
            storage.cell = array
    for i in what.ordinary:
        mixed_operands.installed.leave_mesh(made[i])
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
    # Before any slot is bound: a value may be what another slot holds.
    bound = (
        [
            (slot, None if template is None else give(template, arguments, made, node))
            for slot, template in what.slots
        ]
        if what.slots
        else []
    )
    for i, condition in what.slot_conditions.items():
        if not bool(made[condition].cell):
            bound[i] = bound[i][0], None
    _switch(what, arguments, False)
    for template in what.kept:
        give(template, arguments, made, node)
    leaves, structure = what.result
    n_leaves = len(leaves)
    if what.held:
        leaves = [*leaves, *(leaf for _, _, leaf in what.held)]
    found = [
        give(leaf, arguments, made, node)
        if isinstance(leaf, Template)
        else number(leaf, made, numbers)
        if isinstance(leaf, NumberTemplate)
        else copy.deepcopy(leaf.example)
        if type(leaf) is Anew
        else numbers[leaf.index]
        if type(leaf) is GivenContainer
        else leaf
        for leaf in leaves
    ]
    for of_view, of_base, made_by in what.views:
        view = give(of_view, arguments, made, node)
        view._base, view._made_by = give(of_base, arguments, made, node), made_by
    if what.held:
        for (whose, name, _), value in zip(what.held, found[n_leaves:], strict=True):
            vars(give(whose, arguments, made, node))[name] = value
        del found[n_leaves:]
    for slot, value in bound:
        slot.bind(arguments, value)
    result = found[0] if structure is None else unflatten(structure, found)
    return given.write(what.changes, numbers, result) if what.changes else result


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
