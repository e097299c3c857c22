"""Calls that cannot be compiled whole: their modules are, or run again eagerly."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torchlike._core import modes, tape
from torchlike._core.tape import (
    AccumulateGrad,
    Edge,
    Node,
    gradient_edge,
    move_retained,
    next_sequence,
)
from torchlike._jit.capture.effects import ThreadModes
from torchlike._jit.program.node import CompiledNode
from torchlike.random.engine import Engine
from torchlike.random.generator import accelerators, default_generator, drawing_from
from torchlike.tensor import Tensor

#: Modules of one function that have programs of their own at most; the oldest is forgotten.
_MOST = 256
#: Stands for what calls a module that runs eagerly.
_EAGER = object()


class ModuleFallback:
    """What compiles the modules called by a function that runs eagerly.

    A module is compiled at its second call (one made for a single call never is) by a
    ``JitFunction`` that falls back in its turn: what is in the way ends up alone. The library's own
    modules without others inside (``Linear``, ``ReLU``) stay eager: they are one op.
    """

    def __init__(
        self, whole: Any, compile: Callable[[Any], Any], report: Callable[[Any, str], None]
    ) -> None:
        """Begin with no modules seen. ``report`` is called for modules that run eagerly after
        all, with the reason."""
        #: The function itself, where it is a module: not a part.
        self._whole = whole
        self._compile = compile
        self._report = report
        #: Modules called so far, by their ids; they live no longer for it.
        self._seen: dict[int, weakref.ref[Any]] = {}
        #: What calls them from the second time on, which holds them.
        self._compiled: dict[int, Any] = {}

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function eagerly; modules that it calls ask for ``compiled``."""
        return _with(self, fn, args, kwargs)

    def compiled(self, module: Any) -> Any:
        """Return the compiled module that is to be called (by ``call``) in the place of a module,
        or None for the module itself."""
        if module is self._whole or not module._is_worth_compiling():
            return None
        # A checkpoint compares what its two runs save: both are eager.
        if tape.saving.hooks or modes.current.backward_pass is not None:
            return None
        key = id(module)
        found = self._compiled.get(key)
        if found is _EAGER:
            return None
        if found is None:
            seen = self._seen.get(key)
            if seen is None or seen() is not module:
                _keep(self._seen, key, weakref.ref(module))
                return None
            found = self._compile(module)
            _keep(self._compiled, key, found)
        return found

    def call(self, compiled: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a compiled module: what it calls in its turn is part of it."""
        module = compiled._fn

        def leave_eager() -> None:
            _keep(self._compiled, id(module), _EAGER)
            self._report(module, WHY)

        return replayable(
            module,
            lambda: _with(None, compiled, args, kwargs),
            lambda: module(*args, **kwargs),
            leave_eager,
            (args, kwargs),
        )


def _keep(table: dict[int, Any], key: int, value: Any) -> None:
    if len(table) >= _MOST:
        table.pop(next(iter(table)), None)
    table[key] = value


def _with(
    fallback: ModuleFallback | None,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    before, modes.current.module_fallback = modes.current.module_fallback, fallback
    try:
        return fn(*args, **kwargs)
    finally:
        modes.current.module_fallback = before


#: How the elements of containers are had, and how deep they may be nested.
_ELEMENTS: tuple[tuple[type, Callable[..., Any]], ...] = (
    (list, list.__iter__),
    (tuple, tuple.__iter__),
    (dict, dict.values),
)
_DEEPEST = 12
#: Why a module whose call was replayed runs eagerly from then on.
WHY = (
    "its graph is looked into, or differentiated more than once: the compiled call is a single node"
)


class ReplayedNode(CompiledNode):
    """A compiled call whose eager operations have taken its place: gradients go on to them."""

    __slots__ = ()

    def run(self, cotangents: list[Any]) -> Any:
        return cotangents

    def run_graph(self, cotangents: list[Any]) -> Any:
        return cotangents

    def check_whole(self, output_nr: int, cotangents: list[Any]) -> None:
        """Do nothing: results behind others are reached through the eager graph."""

    def release(self) -> None:
        """Do nothing: the node keeps nothing."""


class _Then:
    """The state that a module's call finds: modes, random numbers, buffers."""

    def __init__(self, module: Any) -> None:
        self._modes = ThreadModes()
        self._random = default_generator.engine.mark(), accelerators.states()
        self._tables = [(m._buffers, dict(m._buffers)) for m in module.modules() if m._buffers]
        buffers = [b for _, table in self._tables for b in table.values() if b is not None]
        self._cells = [(b._storage, _contents(b._storage)) for b in buffers]

    def call(self, again: Callable[[], Any]) -> Any:
        """Make a call in that state, and leave the present one as it is."""
        now, fallback = ThreadModes(), modes.current.module_fallback
        tables = [(table, dict(table)) for table, _ in self._tables]
        cells = [(storage, _contents(storage)) for storage, _ in self._cells]
        engine = Engine(0)
        engine.go_back(self._random[0])
        _put(self._tables, self._cells)
        self._modes.restore()
        modes.current.module_fallback = None
        try:
            with drawing_from(engine, self._random[1]):
                return again()
        finally:
            modes.current.module_fallback = fallback
            now.restore()
            _put(tables, cells)


def _contents(storage: Any) -> tuple[Any, ...]:
    return storage.cell, storage.host, storage.strides, storage.version


def _put(tables: Sequence[Any], cells: Sequence[Any]) -> None:
    for table, entries in tables:
        table.clear()
        table.update(entries)
    for storage, contents in cells:
        storage.cell, storage.host, storage.strides, storage.version = contents


class Replay:
    """What a node needs to be replaced by the eager graph of its call."""

    def __init__(
        self,
        then: _Then,
        again: Callable[[], Any],
        report: Callable[[], None],
        outputs: list[tuple[int, int, Any]],
        count: int,
    ) -> None:
        """Keep what replaces a node. ``outputs``: of each result that is the node's, its position
        among ``count`` results, its number at the node and a weak reference to it."""
        self._then = then
        self._again = again
        self._report = report
        self._outputs = outputs
        self._count = count

    def __call__(self, node: CompiledNode) -> None:
        """Put the eager graph in the place of a node; nothing happens where the call does not give
        what it gave."""
        node.replay = None
        first = next_sequence()
        found = list(_tensors(self._then.call(self._again)))
        if len(found) != self._count:
            return
        edges: list[Edge | None] = [None] * node.n_outputs
        for position, nr, _ in self._outputs:
            edges[nr] = gradient_edge(found[position])
        _number_below(node, [edge[0] for edge in edges if edge is not None], first)
        node.edges = edges
        node.__class__ = ReplayedNode
        node.residuals = node.call = None
        for _, nr, reference in self._outputs:
            _move(node, nr, edges[nr], reference())
        self._report()


def _move(node: Node, nr: int, edge: Edge | None, output: Any) -> None:
    """Move a result of the compiled call, with its hooks, to the eager graph."""
    if edge is None or isinstance(edge[0], AccumulateGrad):
        return
    if output is not None and output._node is node and output._output_nr == nr:
        output._node, output._output_nr = edge
        move_retained(node, nr, *edge)
        if node.pre_hooks and nr in node.pre_hooks:
            edge[0].pre_hooks = {**(edge[0].pre_hooks or {}), edge[1]: node.pre_hooks.pop(nr)}


def _number_below(node: Node, roots: list[Node], first: int) -> None:
    """Number the nodes that were made after ``first`` as if they had been made where ``node`` was:
    the engine relies on a node being newer than those that it leads to."""
    new: dict[Node, None] = {}
    stack = [root for root in roots if not isinstance(root, AccumulateGrad)]
    while stack:
        at = stack.pop()
        if at in new or isinstance(at, AccumulateGrad) or at.sequence <= first:
            continue
        new[at] = None
        stack += [edge[0] for edge in at.edges if edge is not None]
    for k, at in enumerate(sorted(new, key=lambda n: n.sequence), 1):
        at.sequence = node.sequence - 1 + k / (len(new) + 1)  # type: ignore[assignment]


def _tensors(result: Any, depth: int = 0) -> Iterator[Tensor]:
    """Yield the tensors in nested containers, by no methods of classes of the user's."""
    kind = type(result)
    if issubclass(kind, Tensor):
        yield result
    elif depth < _DEEPEST:
        for base, elements in _ELEMENTS:
            if issubclass(kind, base):
                for x in elements(result):
                    yield from _tensors(x, depth + 1)


def replayable(
    module: Any,
    call: Callable[[], Any],
    again: Callable[[], Any],
    report: Callable[[], None],
    inputs: Any,
) -> Any:
    """Run a module's compiled call, and prepare its node to be replaced by what ``again``, the same
    call eagerly, records. ``report`` is called then. ``inputs``: its arguments.

    Modules are compiled by themselves where a script did not ask for it, so a script may do with
    their results whatever it does eagerly: take gradients of gradients, keep the gradient of one
    result that another was computed from, walk along ``grad_fn.next_functions``. Then the call is
    made again as it was, by eager operations, and what these recorded takes the place of the node.
    """
    current = modes.current
    if not current.grad_enabled or modes.is_capturing() or current.levels:
        return call()
    before = [(t._storage, t._storage.version) for t in _tensors(inputs)]
    then, first = _Then(module), next_sequence()
    result = call()
    if any(storage.version != version for storage, version in before):
        return result  # it would be written to twice
    outputs: dict[CompiledNode, list[tuple[int, int, Any]]] = {}
    count = 0
    for t in _tensors(result):
        node: Any = t._node
        if type(node) is CompiledNode and node.sequence > first and node.replay is None:
            outputs.setdefault(node, []).append((count, t._output_nr, weakref.ref(t)))
        count += 1
    for node, of_node in outputs.items():
        node.replay = Replay(then, again, report, of_node, count)
    return result
