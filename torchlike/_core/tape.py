"""The tape: nodes and edges, which dispatch records and the engine walks, and which tensors may be
written in place (``check_in_place``).

A node is one recorded op. Its edges lead to the nodes that made its inputs::

    x (leaf) --- AccumulateGrad <-- edge -- MulBackward0 <-- y._node
                                   (0)        saved: y's operands

Nodes hold arrays, never tensors (AccumulateGrad excepted), so a graph has no reference cycles and
is freed the moment its last tensor goes.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from torchlike._core import errors, modes
from torchlike._runtime.tracebacks import stack_of_the_script
from torchlike.tensor import Tensor

if TYPE_CHECKING:
    from torchlike._core.cells import Value

#: An edge: the node that made a value, and which of its outputs the value is.
Edge = tuple["Node", int]
#: What users have called in a backward pass.
Hook = Callable[..., Any]


class _EdgeFields(NamedTuple):
    node: Node
    output_nr: int
    #: What keeps the graph alive in PyTorch. Here the node does.
    ownership_token: object = None


class GradientEdge(_EdgeFields):
    """An edge as users hold it (``autograd.graph.get_gradient_edge``)."""

    #: Shape and dtype of what flows along it, where that is known. It is no field: edges are equal
    #: where node and output are, however they were made.
    aval: Any = None


class _Saving(threading.local):
    """How nodes keep what they save, where they do not simply keep it (autograd/saved.py)."""

    #: Makes a node in OpNode's place; None is the ordinary way.
    make: Callable[..., Any] | None = None
    #: Pairs of hooks (pack, unpack), outermost first; the last is the one called.
    hooks: tuple[tuple[Hook, Hook], ...] = ()
    #: What is told of each recorded op, and may know its result (utils/selective.py), or None.
    selecting: Any = None
    #: Why hooks are forbidden now, or None.
    refusal: str | None = None
    #: Strict mode: backward refuses what was written in place after it was saved.
    strict: bool = False
    #: In strict mode: the tensor that an in-place op is about to write.
    target: Tensor | None = None
    #: Whether the op that saves has something to do afterwards that PyTorch's does before: a
    #: checkpoint's second run does not end at what it saves, then.
    finishing: bool = False
    #: Gradients that arrived at the node whose saved tensors are being unpacked.
    arriving: Sequence[object] = ()


saving = _Saving()
_sequence = itertools.count()
#: AccumulateGrad runs before anything else that is ready, as in PyTorch.
_FIRST = 1 << 62


def next_sequence() -> int:
    """Draw the number that the next node will exceed, and return it; nodes made before now have a
    smaller one."""
    return next(_sequence)


class NodeType(type):
    """The class of classes of nodes, by which new nodes are told of (autograd/new_nodes.py)."""


class Node(metaclass=NodeType):
    """A recorded op: how to turn gradients of its outputs into gradients of its inputs.

    Subclasses define ``run`` (on arrays) and ``run_graph`` (on tensors, itself recorded).
    """

    __slots__ = (
        "__weakref__",
        "_metadata",
        "_name",
        "edges",
        "hooks",
        "pre_hooks",
        "retained",
        "sequence",
    )
    n_outputs = 1
    #: Whether ``run`` is given gradients with their conditions (autograd/conditional_grad.py).
    sees_conditions = False
    #: Whether what it saved is put into it after it was made; who does so tells of it then.
    is_completed_later = False
    #: Whether its backward pass calls operators on tensors, so that their classes and modes see it.
    in_tensors = False

    def __init__(self, name: str, edges: list[Edge | None]) -> None:
        self._name = name
        self.edges = edges
        self.sequence = next(_sequence)
        #: Tensor hooks as {output number: {handle id: hook}}; made on first use.
        self.pre_hooks: dict[int, dict[int, Hook]] | None = None
        #: Node hooks (register_prehook, register_hook), as a pair of dictionaries.
        self.hooks: tuple[dict[int, Hook], dict[int, Hook]] | None = None
        #: Outputs whose gradient a tensor keeps: {output number: weak reference to it}.
        self.retained: dict[int, weakref.ref[Tensor]] | None = None
        self._metadata: dict[str, Any] | None = None
        if modes.current.anomaly:
            self._remember_origin()

    def _remember_origin(self) -> None:
        """Keep the stack for anomaly detection, and the node whose backward makes this one."""
        self.metadata["traceback_"] = stack_of_the_script()
        if (running := modes.current.backward_pass) is not None:
            self.metadata["parent_"] = running.node

    # What a subclass does -------------------------------------------------------------------------

    def run(self, cotangents: list[Any]) -> Sequence[Value | None]:
        """Return the gradients (arrays or None) for each edge, from arrays (or None) for each
        output."""
        raise NotImplementedError

    def run_graph(self, cotangents: list[Any]) -> Sequence[Tensor | None]:
        """Return the same gradients as recorded tensors, from tensors, for create_graph."""
        raise NotImplementedError

    def check_whole(self, output_nr: int, cotangents: Sequence[object]) -> None:
        """Refuse where what arrived at an output may not be its whole gradient."""

    def release(self) -> None:
        """Free what was saved for backward."""

    def shown(self) -> Node:
        """Return the node as users see it."""
        return self

    def is_released(self) -> bool:
        """Return whether a backward pass freed what this node saved."""
        return False

    # What users see -------------------------------------------------------------------------------

    def name(self) -> str:
        """Return the node's name: ``MulBackward0`` and the like."""
        return self._name

    def short_name(self) -> str:
        """Return the name as tensors print it: without PyTorch's C++ namespace."""
        return self._name.rsplit("::", 1)[-1]

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes behind each input; (None, 0) for one that needs no gradient."""
        return tuple((None, 0) if e is None else (e[0].shown(), e[1]) for e in self.edges)

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for the user's notes."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node ran in backward."""
        return self._register(1, hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before this node runs in backward."""
        return self._register(0, hook)

    def _register(self, which: int, hook: Hook) -> RemovableHandle:
        if self.hooks is None:
            self.hooks = ({}, {})
        return RemovableHandle.on(self.hooks[which], hook)

    def retains_grad(self, output_nr: int) -> bool:
        return self.retained is not None and output_nr in self.retained

    def __repr__(self) -> str:
        return f"<{self.short_name()} object at {id(self):#x}>"


class RemovableHandle:
    """Removes a hook: ``handle.remove()``, or as a context manager.

    ``hooks_dict`` has hooks under ``id``; ``extra_dict``, one dictionary or a list of them, what is
    kept about them beside.
    """

    __slots__ = ("_extra", "_hooks", "id")
    _ids = itertools.count()

    def __init__(self, hooks_dict: dict[int, Any], *, extra_dict: Any = None) -> None:
        self._hooks = hooks_dict
        self._extra: tuple[dict[int, Any], ...] = (
            ()
            if extra_dict is None
            else ((extra_dict,) if isinstance(extra_dict, dict) else tuple(extra_dict))
        )
        self.id = next(self._ids)

    @classmethod
    def on(cls, hooks: dict[int, Any], hook: object, *extra: dict[int, Any]) -> RemovableHandle:
        """Add ``hook`` to the dictionary ; the handle removes it, from ``extra`` too."""
        handle = cls(hooks, extra_dict=extra)
        hooks[handle.id] = hook
        modes.epoch.advance()  # compiled programs ask again which hooks there are
        return handle

    def remove(self) -> None:
        """Remove the hook; doing so twice is harmless."""
        for table in (self._hooks, *self._extra):
            modes.table_changes(self, table, "the hooks that a handle removes")
            table.pop(self.id, None)
        modes.epoch.advance()

    def hooks_dict_ref(self) -> dict[int, Any]:
        """Return the dictionary that has the hook."""
        return self._hooks

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class AccumulateGrad(Node):
    """Where a gradient reaches a leaf: adds it to ``variable.grad``."""

    __slots__ = ("post_hooks", "variable")

    def __init__(self, variable: Tensor) -> None:
        super().__init__("torch::autograd::AccumulateGrad", [])
        self.sequence = _FIRST  # those that are ready run in the order of the edges
        self.variable = variable
        self.post_hooks: dict[int, Hook] | None = None

    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """Return the AccumulateGrad node of a leaf, made where there is none: one at a time, kept alive
    by the graph that uses it."""
    found = leaf._accumulator and leaf._accumulator()
    if found is None:
        found = AccumulateGrad(leaf)
        leaf._accumulator = weakref.ref(found)
        if leaf._hooks is not None:
            # Hooks live on the leaf, so that they outlast each graph's node.
            found.pre_hooks, found.post_hooks = leaf._hooks
    return found


def former_accumulator(t: Tensor) -> AccumulateGrad | None:
    """Return the node through which gradients still reach ``t`` as the leaf it was before a write
    in place, if any."""
    found = t._accumulator and t._accumulator()
    return found if found is not None and found.variable is t else None


def gradient_edge(t: Tensor) -> Edge | None:
    """Return the edge along which this tensor's gradient flows, or None when it needs none."""
    base = t._base
    if base is not None and t._history != base._history:
        t._rejoin_history()
    node = t._node
    if node is not None:
        return node, t._output_nr
    # A view made under no_grad says requires_grad after its base, but has no gradient to pass on.
    return (accumulator(t), 0) if t._requires_grad else None


def forget_hooks(t: Tensor) -> None:
    """Drop the hooks of a leaf that becomes a result, as PyTorch does: later ones are new."""
    t._hooks = None
    former = former_accumulator(t)
    if former is not None:
        former.pre_hooks = former.post_hooks = None


def move_retained(old: Node, old_nr: int, new: Node, new_nr: int = 0) -> None:
    """Move a tensor's mark of retain_grad to the node of its new value."""
    if old.retained:
        kept = old.retained.pop(old_nr, None)
        if kept is not None:
            new.retained = {**(new.retained or {}), new_nr: kept}


#: ``_made_by`` of a variable of ``grad`` or ``vjp`` that an outer transform differentiates, too: a
#: leaf to whoever wants to write to it.
VARIABLE = "variable"
#: How ``_made_by`` of a custom Function's only output begins.
CUSTOM_FUNCTION = "custom Function "


def ambiguous_view(view: Tensor, what: str) -> str:
    made_by = view._made_by
    if made_by in ("no_grad", "inference"):
        which = "A view was"
        if view._node is not None:  # recorded, of one that was not
            of = op_of_node_name(view._node.short_name())
            which = f"Output {view._output_nr} of {of} is a view of a view which was"
        inference = made_by == "inference"
        return errors.UNRECORDED_VIEW.format(
            which=which,
            mode=made_by,
            what=what,
            where="in normal mode" if inference else "with grad mode enabled",
            block="inference_mode" if inference else "no_grad",
        )
    words = errors.MULTIPLE_VIEW
    if made_by.startswith(CUSTOM_FUNCTION):
        words, made_by = errors.CUSTOM_FUNCTION_VIEW, made_by.removeprefix(CUSTOM_FUNCTION)
    return words.format(what=what, output=view._output_nr, name=op_of_node_name(made_by))


def op_of_node_name(name: str) -> str:
    """Return the operation that a node's name names: ``Mul`` for ``MulBackward0``."""
    return name.removesuffix("0").removesuffix("Backward")


def _has_hooks(view: Tensor, base: Tensor) -> bool:
    """Return whether there are hooks on a view or on the views of ``base`` that it was made of.
    What is about to be written hangs on the base alone, without them, as in PyTorch."""
    node = view._node
    while node is not None and node is not base._node and len(node.edges) == 1:
        if node.pre_hooks or node.hooks:
            return True
        edge = node.edges[0]
        node = None if edge is None else edge[0]
    return False


def check_inference(t: Tensor) -> None:
    """Raise RuntimeError for a write to an inference tensor outside of inference mode."""
    if t._inference and not modes.current.inference:
        raise RuntimeError(errors.INFERENCE_IN_PLACE)


def check_in_place(t: Tensor, recorded: object = None) -> None:
    """Refuse in-place ops where PyTorch does: leaves that require grad, views of them, and views
    made under no_grad, by a function of several, or by a Function (`ambiguous_view`).

    ``recorded`` says whether the op needs a gradient for any operand (default: for ``t``); an op
    that needs none may write anywhere.
    """
    if not modes.current.grad_enabled:
        return
    if saving.strict:
        saving.target = t
    requires_grad = t.requires_grad
    if not (requires_grad if recorded is None else recorded):
        return
    base = t._base
    if base is not None:
        if t._made_by and t._made_by != VARIABLE:
            raise RuntimeError(ambiguous_view(t, errors.VIEW_MODIFIED))
        if requires_grad and (base._node is None or base._made_by == VARIABLE):
            raise RuntimeError(errors.LEAF_VIEW_IN_PLACE)
        if t._requires_grad and t._node is None:
            raise RuntimeError(errors.LEAF_IN_PLACE)
        if _has_hooks(t, base):
            t._rejoin_history()
    elif requires_grad and (t._node is None or t._made_by == VARIABLE):
        raise RuntimeError(errors.LEAF_IN_PLACE)
