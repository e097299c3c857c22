"""Describes what a program's executable takes and gives, and where a call finds and puts it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
from jax import core

from torchlike._core.storage import Storage
from torchlike._jit.capture.slots import Slot
from torchlike._jit.compile.output_templates import Template
from torchlike._runtime.late_checks import Words
from torchlike.autograd.partial import When
from torchlike.tensor import Tensor


class Run(NamedTuple):
    """One run of a program: what came out, and what went in."""

    outputs: Sequence[Any]
    #: Inputs kept for backward.
    kept: list[Any]
    arrays: list[Any]
    arguments: Sequence[Tensor]
    #: All host values of the call, used or not.
    drawn: Sequence[Any]
    #: Puts random generators back, where a check of values may fail.
    undo: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The arrays that the executable takes, in this order, and where a call finds them."""

    #: Cells that are the same at each call.
    cells: list[Storage]
    #: Slots, whose tensors' cells are inputs.
    slots: list[Slot]
    #: Positions of arguments.
    arguments: list[int]
    #: What provides the host values of a call, and which of those are inputs.
    getters: list[Callable[[], Any]]
    drawn: list[int]
    #: Which of the numbers that are made of the call's arguments are inputs.
    numbers: list[int]
    #: Numbers of the offsets of views: (which argument, which of its view's numbers).
    offsets: list[tuple[int, int]]
    #: Of all of them, shapes and dtypes, and the kind of place and what is there.
    avals: list[Any]
    sources: list[tuple[str, Any]]
    #: Which of them an output overwrites: their memory is given up.
    donated: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """What a call does with the arrays that the executable gives: first those that are written to
    cells, then those of ``n_made`` new storages, then the word of the checks of values (where
    there are any), then what is kept for backward."""

    #: The places whose cells are written.
    written: list[tuple[str, Any]]
    #: The cells, where they are the same at each call.
    written_cells: list[Storage] | None
    n_made: int
    #: Which of those are of ordinary tensors, whose arrays leave the mesh that the program ran on.
    ordinary: tuple[int, ...]
    #: The slots that are bound, and to what; None to None.
    slots: list[tuple[Slot, Template | None]]
    #: Which of these are None unless a bool says so, one of the storages made.
    slot_conditions: dict[int, int]
    #: Leaves (or which arguments they are) whose ``requires_grad`` is changed: from, to.
    flags: list[tuple[Any, Any, Any]]
    #: What the function returned: templates of its leaves, and their structure (trees.py).
    result: tuple[list[Any], Any]
    #: Containers among the arguments that it changes, by their places among the numbers of a
    #: call: what is in them stands behind the result (see ``given``).
    changes: tuple[int, ...]
    #: Whether a tensor is given back in more than one place.
    repeats: bool
    #: Which tensors given back are views of which: (view, base, what says how it was made).
    views: list[tuple[Template, Template, Any]]
    #: What tensors given back hold besides: whose, under which name (``_grad``, or one of the
    #: user's), a leaf like those of the result.
    held: list[tuple[Template, str, Any]]
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


def abstract(array: Any) -> Any:
    """Return the placeholder of an array among the inputs of a program that is compiled before it
    is called: its aval, and where it has to be. It does not hold the array, which may be given up
    meanwhile.
    """
    if not isinstance(array, jax.Array):
        return array  # a number, whose type is part of the signature
    committed = isinstance(array, core.Tracer) or array.committed
    return jax.ShapeDtypeStruct(
        array.shape,
        array.dtype,
        weak_type=getattr(array, "weak_type", False),
        sharding=array.sharding if committed else None,
    )
