"""What a trace found: `TraceResults`, and templates by which each call makes what it gives back."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from torchlike._core import errors, tape
from torchlike._core.dispatch.record import OpNode
from torchlike._core.dispatch.view_history import reads_a_view
from torchlike._core.storage import Storage
from torchlike._core.tape import AccumulateGrad, Edge, Node, gradient_edge
from torchlike._jit.capture.capture import Capture
from torchlike._jit.capture.cells import check_memory_of_made
from torchlike._jit.capture.changes import Change
from torchlike._jit.capture.effects import Effect
from torchlike._jit.capture.scalars import CallValues, InputContainer, Number, Table
from torchlike._jit.capture.unread import UnreadString
from torchlike._jit.guards.guard import VALUES
from torchlike._jit.guards.sources import ArgumentCell, CellSource, FixedCell, Slot, SlotCell
from torchlike.autograd.conditional_grad import When
from torchlike.tensor import FIELDS, Tensor, whole_dict


class FreedNode(Node):
    """The history of an output whose graph was already run backward inside the program."""

    __slots__ = ()

    def run(self, cotangents: list[Any]) -> Any:
        raise RuntimeError(errors.BACKWARD_TWICE)

    run_graph = run


class AliasOfInput(NamedTuple):
    """A view of an argument (or of a tensor from outside), which each call makes on that anew.

    Attributes:
      parent: which argument, or the tensor.
      nodes: the nodes behind the view, from the parent on: what they read it by and keep, how many
        outputs they have, and which of those is meant.
      view: the chain of all steps, from the memory on.
      made_by, is_differentiable: what says by which operation it was made, and whether it follows
        its base's history.
    """

    parent: Any
    nodes: tuple[tuple[Any, Any, Any, int, int], ...]
    view: Any
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
        "alias",
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
        self.alias: AliasOfInput | None = None
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
            and self.alias is None
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


class FreshOutput(NamedTuple):
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
    if template.alias is not None:
        if template.inference:
            t._inference = True
        if template.requires_grad and not template.alias.nodes:  # a leaf made inside
            t._requires_grad = True
        return template.alias.build(arguments, t)
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
    own = whole_dict(t)
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

    def cached(template: Template, *rest: Any) -> Tensor:
        found = made.get(id(template))
        if found is None:
            found = made[id(template)] = build(template, *rest, known.get(id(template)))
        return found

    return cached


def number(template: NumberTemplate, made: list[Storage], numbers: Any) -> Any:
    if template.index >= 0:
        return numbers[template.index]
    return template.kind(np.asarray(made[template.output].cell).item())


# -------------------------------------------------------------------------------------------------
# What a trace found out of its program (`TraceResults`), and templates of what it gives back.


class TraceResults:
    """What a trace found out of the program that is to be made of it. The fields are those of
    `Outputs`, `Gradient` and `Program`, where they are described."""

    def __init__(self) -> None:
        self.numbers: Table | CallValues | None = None
        self.prints: Effect | None = None
        self.retrace: Callable[[Any], Any] | None = None
        self.capture_seconds = 0.0
        self.cacheable = True
        self.why_not = ""
        self.changes_structure = False
        #: Whether the call finds leaves without the gradients that it leaves them; whether NumPy
        #: computes such calls eagerly.
        self.leaves_first_gradients = self.by_numpy = False
        # Outputs.
        self.written: list[CellSource] = []
        self.n_made = 0
        self.ordinary: tuple[int, ...] = ()
        self.slot_outputs: list[tuple[Slot, Template | None]] = []
        self.slot_conditions: dict[int, int] = {}
        self.flags: list[tuple[Any, Any, Any]] = []
        self.result: tuple[list[Any], Any] = [], None
        self.changes: tuple[int, ...] = ()
        self.outside: tuple[Change, ...] = ()
        self.is_followed = False
        self.repeats = False
        self.views: list[tuple[Template, Template, Any]] = []
        self.attributes: list[tuple[Template, str, Any]] = []
        self.kept: list[Template] = []
        # How a call joins the tape.
        self.cotangent_avals: list[Any] = []
        self.behind: list[int] = []
        self.boundary: list[Any] = []
        self.when: list[When] = []

    def do_not_keep(self, why: str) -> None:
        """Mark the program as one for this call alone."""
        self.cacheable, self.why_not = False, why


# -------------------------------------------------------------------------------------------------
# `CapturedOutputs` turns what a captured function gave back into templates for later calls.


class CapturedOutputs:
    """The templates of one capture, and the storages whose arrays the program has to give out."""

    def __init__(self, capture: Capture, results: TraceResults, position: dict[int, int]) -> None:
        self._capture = capture
        self._results = results
        #: The argument on a placeholder's storage, by the storage's id.
        self._position = position
        #: Storages made inside, in the order of the program's outputs, and their places in it.
        self.made: list[Storage] = []
        self._index: dict[int, int] = {}
        #: Tensors made inside whose gradients the program takes, and where their histories begin.
        self.roots: list[tuple[Tensor, Edge]] = []
        self._new: list[Tensor] = []
        self._freed: list[Tensor] = []
        #: Tensors to be given back, by their ids, and how.
        self._templates: dict[int, tuple[Tensor, Template]] = {}

    def __contains__(self, storage: Storage) -> bool:
        return id(storage) in self._index

    def add(self, storage: Storage) -> int:
        """Return the number of the output on which the program gives out a storage made inside; add
        one where there is none."""
        where = self._index.get(id(storage))
        if where is None:
            check_memory_of_made(storage, "returning or keeping", self._capture.refuse)
            where = self._index[id(storage)] = len(self.made)
            self.made.append(storage)
        return where

    def leaf(self, x: Any) -> Any:
        """Return a template by which each call gives one leaf of the result back."""
        if isinstance(x, Tensor):
            return self.tensor(x)
        if type(x) is InputContainer:
            return x
        if type(x) is not Number:
            return self._fresh_output(x)
        if x.table is not None:
            return NumberTemplate(x.kind, x.index, -1)
        return NumberTemplate(x.kind, -1, self.add(x._storage))

    def _fresh_output(self, x: Any) -> Any:
        """Return an object that is no tensor as each call gives it: itself where it was there
        before (or cannot change), else one like it at each call."""
        if type(x) is UnreadString:
            x.read()
        if isinstance(x, VALUES) or self._capture.observer.is_from_outside(x):
            return x
        if _is_constant(x):
            return FreshOutput(copy.deepcopy(x))
        self._results.do_not_keep(
            f"it returns an object that it made, of type {type(x).__name__}, which each call has "
            "to make anew; return tensors, numbers, or tuples, lists, dictionaries or dataclasses "
            "of such"
        )
        return x

    def tensor(self, t: Tensor) -> Template:
        """Return the template by which each call gives a tensor back: the same one for the same
        tensor, which is one object at each call, too."""
        known = self._templates.get(id(t))
        if known is None:
            known = self._templates[id(t)] = t, self._template_of(t)
        else:
            self._results.repeats = True
        return known[1]

    def _template_of(self, t: Tensor) -> Template:
        storage = t._storage
        if not self._capture.is_created(storage):
            argument = self._capture.placeholders.get(id(t), -1)
            if argument < 0 and (alias := self._alias_of_input(t)) is not None:
                template = Template(t, -1, None, -1)
                template.alias = alias
                return template
            if (
                argument < 0
                and t._node is not None
                and (t._node.sequence >= self._capture.first_sequence)
            ):
                self._capture.refuse(
                    "returning a tensor that shares memory with one from outside, and has another "
                    "history",
                    "tensor.clone()",
                )
            where = self.where(storage)
            if isinstance(where, SlotCell) and argument < 0:
                return Template(
                    t, -1, None, -1, where.slot
                )  # what it holds is another at each call
            return Template(t, -1, t, argument)
        where = self.add(storage)
        if t.retains_grad and not _is_freed(t.grad_fn, self._capture.first_sequence):
            # What it retains would include the other results' gradients (CompiledNode.check_whole).
            self._capture.refuse(
                "returning a tensor that retains its gradient",
                "backward() inside the jitted function, or retain_grad() on its one result",
            )
        return self._new_template(t, where)

    def _new_template(self, t: Tensor, where: int, recorded: bool = True) -> Template:
        """Make the template of a tensor made inside, on output ``where``."""
        template = Template(t, where, None, -1)
        self._new.append(t)
        if not recorded:
            template.root = -2 if t.requires_grad else -1
        elif t.requires_grad and t.grad_fn is not None:
            edge = tape.gradient_edge(t)
            assert edge is not None
            if _is_freed(edge[0], self._capture.first_sequence):
                template.root = -2
                self._freed.append(t)
            else:
                template.root = len(self.roots)
                self.roots.append((t, edge))
        return template

    def drop_freed(self) -> None:
        """Cut tensors made inside off graphs that backward has run through: they keep alive the
        leaves that the body made, and their gradients, which nobody can reach."""
        for t in self._freed:
            t._node = None

    def keep_slots(self, bound: Iterable[tuple[Slot, Any]]) -> None:
        """Let slots that each call reads and binds anew keep what they hold where a check of values
        fails."""
        for slot, t in bound:
            before = slot.initial
            if (
                isinstance(t, Tensor)
                and isinstance(before, Tensor)
                and t._storage in self
                and slot.is_read
                and self._capture.bindings.is_rebound(slot)
                and before._view is None
                and before._storage is not t._storage
            ):
                t._storage.cell = self._capture.cells.or_before(t._storage.cell, before._storage)

    def template_of_made(self, t: Tensor) -> Template | None:
        """Return the template by which each call makes a tensor like this one, which was made
        inside; None where none does."""
        known = self._templates.get(id(t))
        return known[1] if known is not None and known[1].output >= 0 else None

    def add_held(self) -> None:
        """Record what tensors made inside and given back hold: a gradient, and attributes of the
        user's. Each call's hold their own."""
        seen: set[int] = set()
        while found := [x for key, x in self._templates.items() if key not in seen]:
            for t, template in found:
                seen.add(id(t))
                if template.output >= 0 or template.alias is not None:
                    self._add_held_by(t, template)

    def _add_held_by(self, t: Tensor, template: Template) -> None:
        if t._hooks is not None and any((*t._hooks[0].values(), t._hooks[1])):
            self._capture.refuse(
                "returning a leaf that has hooks", "hooks registered on the result"
            )
        self._capture.check_gradient(t._grad)
        for name, value in list(whole_dict(t).items()):
            if (name == "_grad" and value is not None) or name not in FIELDS:
                self._results.attributes.append((template, name, self.leaf(value)))
                self._results.repeats = True

    def join_views(self) -> None:
        """Record which results made inside are views of which, where that matters: of several that
        share memory a write into one becomes the others' history, and those that may not be written
        to say so. A base that is not returned is made as well; where nobody may write to its views,
        it is asked for no gradient."""
        sharing: dict[int, list[Tensor]] = {}
        for t in self._new:
            sharing.setdefault(id(t._storage), []).append(t)
        for tensors in sharing.values():
            for t in tensors:
                base = t._base
                if base is None or (len(tensors) == 1 and not t._made_by):
                    continue
                known = self._templates.get(id(base))
                if known is None:
                    recorded = any(v._base is base and not v._made_by for v in tensors)
                    known = base, self._new_template(base, self.add(t._storage), recorded)
                    self._templates[id(base)] = known
                self._results.views.append((self._templates[id(t)][1], known[1], t._made_by))
                self._results.repeats = True

    def _alias_of_input(self, t: Tensor) -> AliasOfInput | None:
        """Return how each call makes a view of an argument or of a tensor from outside anew; None
        for what is more than a view, or where its steps cannot be told from its parent's."""
        view, parent = t._view, t._base
        where: Any = -1 if parent is None else self._capture.placeholders.get(id(parent), -1)
        if where < 0:
            # Of an alias (``x.detach()[0]``), or of a tensor from outside.
            where = self._position.get(id(t._storage), -1)
            parent = parent if where < 0 else None
        is_view = parent is not None
        if where < 0:
            if isinstance(self.where(t._storage), SlotCell):
                return None
            if self._capture.is_adopted(t) and parent is None:
                # A new object at each call: the user may write to it. The first gets this one.
                where = t._alias()
            elif view is None or parent is None or self._capture.observer.is_from_outside(t):
                return None
            else:
                where = parent
        nodes = [] if t._node is None else self._views_behind((t._node, t._output_nr), parent)
        if nodes is None:
            return None
        return AliasOfInput(where, tuple(nodes), view, t._made_by, is_view)

    def _views_behind(self, edge: tape.Edge, parent: Tensor | None) -> list[Any] | None:
        """Return the nodes from an edge from outside to this one, if they are views and nothing
        else."""
        end = None if parent is None else tape.gradient_edge(parent)
        if end is None or not (
            isinstance(end[0], AccumulateGrad) or end[0].sequence < self._capture.first_sequence
        ):
            return None
        found = []
        node, nr = edge
        while reads_a_view(node) and not (node.pre_hooks or node.hooks or node.retained):
            assert isinstance(node, OpNode)
            found.append((node.exe, node.saved, node.avals, node.n_outputs, nr))
            following = node.edges[0]
            if following == end:
                return found[::-1]
            if following is None:
                return None
            node, nr = following
        return None

    def where(self, storage: Storage) -> CellSource:
        """Return where a storage from outside is found again at the next call."""
        (found,) = self.places([storage])
        return found

    def places(self, storages: Iterable[Storage]) -> list[CellSource]:
        """Return where each of these storages is found again at the next call."""
        slots: dict[int, Slot] = {}
        for slot in self._capture.slots.values():
            if (
                slot.is_read
                and isinstance(slot.initial, Tensor)
                and self._capture.bindings.is_rebound(slot)
            ):
                slots.setdefault(id(slot.initial._storage), slot)
        found: list[CellSource] = []
        for storage in storages:
            key = id(storage)
            if key in self._position:
                found.append(ArgumentCell(self._position[key]))
            elif key in slots:
                found.append(SlotCell(slots[key]))
            else:
                found.append(FixedCell(storage))
        return found

    def cut(self) -> dict[int, Tensor]:
        """Cut the capture's own tensors off its tape: their nodes hold tracers. Gives them by the
        ids of their templates: the first call gives back the very objects that the body made, which
        it may have put anywhere."""
        known = {
            id(template): t
            for t, template in self._templates.values()
            if self._capture.is_created(t._storage) or self._capture.is_adopted(t)
        }
        self._templates.clear()
        for t in self._new:
            t._node, t._base = None, None
            if t._view is not None:
                t._view.cached_version = -1
        return known


def without_unknown_place(x: Any) -> Any:
    """Copy a view at an index that only the compiled program knows; return the rest as it is."""
    if isinstance(x, Tensor) and x._view is not None:
        offset = x._view.geometry.offset
        if offset != offset:  # views.UNKNOWN
            return x.clone()
    return x


def _is_constant(x: Any) -> bool:
    """Return whether an object consists of plain values alone."""
    if isinstance(x, (*VALUES, bytearray, np.ndarray)):
        return not isinstance(x, np.ndarray) or not x.dtype.hasobject
    if isinstance(x, dict):
        return all(_is_constant(k) and _is_constant(v) for k, v in x.items())
    return isinstance(x, (list, tuple, set, frozenset, deque)) and all(map(_is_constant, x))


def _is_freed(node: Node, first_sequence: int) -> bool:
    """Return whether backward already ran through the graph behind a node."""
    seen, stack = set(), [node]
    while stack:
        at = stack.pop()
        if at in seen or at.sequence < first_sequence:
            continue
        seen.add(at)
        if at.is_released():
            return True
        stack += [e[0] for e in at.edges if e is not None]
    return False
