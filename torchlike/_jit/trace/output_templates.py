"""Templates by which each call of a program makes the tensors, numbers and objects it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from torchlike._core import errors
from torchlike._core.storage import Storage
from torchlike._core.tape import Node, gradient_edge
from torchlike._core.tensor_copies import FIELDS
from torchlike._dispatch.record import OpNode
from torchlike._jit.guards.sources import Slot
from torchlike.tensor import Tensor


class FreedNode(Node):
    """The history of an output whose graph was already run backward inside the program."""

    __slots__ = ()

    def run(self, cotangents: list[Any]) -> Any:
        raise RuntimeError(errors.BACKWARD_TWICE)

    run_graph = run


class Again(NamedTuple):
    """A view of an argument (or of a tensor from outside), which each call makes on that anew."""

    #: Which argument, or the tensor.
    parent: Any
    #: The nodes behind the view, from the parent on: what they read it by and keep, how many
    #: outputs they have, and which of those is meant.
    nodes: tuple[tuple[Any, Any, Any, int, int], ...]
    #: The chain of all steps, from the memory on.
    view: Any
    #: What says by which operation it was made, and whether it follows its base's history.
    made_by: Any
    is_differentiable: bool

    def build(self, arguments: Sequence[Tensor], made: Tensor) -> Tensor:
        """Turn ``made``, a new tensor, into the view, and return it."""
        at = self.parent
        parent: Tensor = arguments[at] if isinstance(at, int) else at
        made._storage = parent._storage
        if self.view is not None:
            made._view = type(self.view)(self.view.steps, self.view.dynamic, self.view.geometry)
        if self.is_differentiable:
            made._base = base = parent if parent._base is None else parent._base
            made._history, made._made_by = base._history, self.made_by
        edge = gradient_edge(parent) if self.nodes else None
        for exe, saved, avals, n_outputs, nr in self.nodes:
            made._node = OpNode(exe, [edge], saved, avals, None, n_outputs)
            made._output_nr = nr
            edge = made._node, nr
        return made


class Template:
    """How to give a tensor back at each call: an object that exists, or a new one on an output."""

    __slots__ = (
        "again",
        "argument",
        "existing",
        "inference",
        "is_leaf",
        "output",
        "requires_grad",
        "root",
        "slot",
        "strides",
        "type",
        "view",
        "whole",
    )

    def __init__(
        self, t: Tensor, output: int, existing: Any, argument: int, slot: Slot | None = None
    ) -> None:
        self.existing = existing
        self.argument = argument
        self.again: Again | None = None
        #: The slot that holds the tensor, or (not ``whole``) the one that it is a view of.
        self.slot = slot
        self.whole = slot is not None and t is slot.initial
        self.output = output
        self.view = t._view
        self.strides = t._storage.strides
        self.requires_grad = t._requires_grad
        #: Which cotangent the tensor's gradient is, -1 for none; -2: its graph was freed.
        self.root = -1
        self.type = type(t)
        self.inference = t._inference

    @property
    def is_plain(self) -> bool:
        """Whether each call gives a new tensor with nothing but an output."""
        return (
            self.argument < 0
            and self.existing is None
            and self.slot is None
            and self.root == -1
            and self.again is None
            and self.type is Tensor
            and self.view is None
            and self.strides is None
            and not self.requires_grad
            and not self.inference
        )


class NumberTemplate(NamedTuple):
    """A number of the result: host number ``index``, or the value of output ``output``."""

    kind: type
    index: int
    output: int


class Anew(NamedTuple):
    """A set, a NumPy array or another changeable object that the function made and returned: each
    call gives one of its own."""

    example: Any


def build(
    template: Template,
    arguments: Sequence[Tensor],
    made: list[Storage],
    node: Any,
    into: Tensor | None = None,
) -> Tensor:
    """Build the tensor of a call; where it is a new one, ``into`` if that is given."""
    if template.argument >= 0:
        return arguments[template.argument]
    if template.existing is not None:
        return template.existing
    if template.whole:
        return template.slot.value(arguments)  # type: ignore[union-attr]
    t = object.__new__(template.type) if into is None else _emptied(into)
    if template.again is not None:
        if template.inference:
            t._inference = True
        if template.requires_grad and not template.again.nodes:  # a leaf made inside
            t._requires_grad = True
        return template.again.build(arguments, t)
    if template.slot is not None:
        t._storage = template.slot.value(arguments)._storage
    else:
        t._storage = storage = made[template.output]
        storage.strides = template.strides
    if template.view is not None:
        t._view = type(template.view)(
            template.view.steps, template.view.dynamic, template.view.geometry
        )
    if template.root >= 0:
        t._node, t._output_nr, t._requires_grad = node, template.root, True
    elif template.root == -2:
        t._node, t._requires_grad = FreedNode("CompiledBackward", []), True
    elif template.requires_grad:
        t._requires_grad = True
    if template.inference:
        t._inference = True
    return t


def _emptied(t: Tensor) -> Tensor:
    """Take memory and history from a tensor and return it: what a user set on it stays."""
    own = vars(t)
    for name in FIELDS & own.keys():
        if name != "_hooks":
            del own[name]
    return t


def once_each(
    build: Callable[..., Tensor], known: dict[int, Tensor] | None = None
) -> Callable[..., Tensor]:
    """Decorate ``build`` to give the same tensor for the same template; of those ``known`` by their
    ids, the one that is there."""
    made: dict[int, Tensor] = {}
    known = known or {}

    def given(template: Template, *rest: Any) -> Tensor:
        found = made.get(id(template))
        if found is None:
            found = made[id(template)] = build(template, *rest, known.get(id(template)))
        return found

    return given


def number(template: NumberTemplate, made: list[Storage], numbers: Any) -> Any:
    if template.index >= 0:
        return numbers[template.index]
    return template.kind(np.asarray(made[template.output].cell).item())
