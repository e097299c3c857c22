"""Graphs below a graph: the functions of ``cond`` and ``while_loop``, traced as they are met.

What a function reads from outside becomes an argument of its graph, behind those it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchlike._jit.trace.cond import describe
from torchlike._ops.aten import custom
from torchlike.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    PythonKeyTracer,
    disable_proxy_modes_tracing,
)
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Argument
from torchlike.fx.proxy import Proxy
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree


class _Below(PythonKeyTracer):
    """A tracer of a function that the traced program gives to an operator."""

    def __init__(self, above: PythonKeyTracer) -> None:
        super().__init__()
        self.above = above
        self.begin()
        self.record_stack_traces = above.record_stack_traces
        self.module_stack = above.module_stack
        #: Tensors from outside that the function read.
        self.read: list[Tensor] = []

    def argument(self, value: Tensor, name: str | None = None) -> None:
        """Add an argument to the graph, for a tensor."""
        standing = self.above.tracked_proxy(value)
        label = name or (standing[0].node.name if standing is not None else "arg")
        with self.graph.inserting_after(self._last_argument()):
            proxy = self.create_proxy("placeholder", label, (), {})
        proxy.node.target = proxy.node.name  # what the caller calls twice has two names here
        proxy.node.meta.pop("stack_trace", None)
        self.track(value, proxy)

    def _last_argument(self) -> Any:
        nodes = [n for n in self.graph.nodes if n.op == "placeholder"]
        return nodes[-1] if nodes else None

    def tracked_proxy(self, value: Any) -> tuple[Proxy, Any] | None:
        """Return the proxy that stands for a tensor here; one from above becomes an argument."""
        own = super().tracked_proxy(value)
        if own is None and self.above.tracked_proxy(value) is not None:
            self.read.append(value)
            self.argument(value)
            own = super().tracked_proxy(value)
        return own

    def create_arg(self, a: Any) -> Argument:
        """Return a value as a node holds it; a tensor from outside becomes an argument."""
        if isinstance(a, Tensor):
            self.above.create_arg(a)  # an attribute, or an input, of the graph above
            self.read.append(a)
            self.argument(a)
            own = super().tracked_proxy(a)
            assert own is not None
            return own[0].node
        return super().create_arg(a)


class _TracedFunction:
    """A function's graph: its results, and which tensors from outside it read."""

    def __init__(
        self,
        mode: ProxyTorchDispatchMode,
        above: PythonKeyTracer,
        fn: Callable[..., Any],
        args: Sequence[Any],
        more: Sequence[Tensor],
    ) -> None:
        below = _Below(above)
        # Other tensors: those of the caller stand for what they are outside.
        with disable_proxy_modes_tracing():
            given = pytree.tree_map(lambda a: a.detach() if isinstance(a, Tensor) else a, args)
        for outer, value in zip(*map(pytree.tree_leaves, (args, given)), strict=True):
            if isinstance(value, Tensor):
                standing = above.tracked_proxy(outer)
                below.argument(value, "arg" if standing is None else standing[0].node.name)
        for value in more:
            below.argument(value)
        mode.tracer = below
        try:
            result = fn(*given)
            leaves, self.spec = pytree.tree_flatten(result)
            below.graph.output(tuple(below.create_arg(below.standing_for(x)) for x in leaves))
        finally:
            mode.tracer = above
        self.leaves, self.read = leaves, [*more, *below.read]
        self.module = GraphModule(below.root, below.graph, "GraphModule")


def _traced(
    mode: ProxyTorchDispatchMode, functions: Sequence[Callable[..., Any]], args: Sequence[Any]
) -> tuple[list[_TracedFunction], list[Tensor]]:
    """Trace functions of the same arguments into graphs of those and of all that any of them
    reads."""
    above = mode.tracer
    read: dict[int, Tensor] = {}
    for fn in functions:
        for t in _TracedFunction(mode, above, fn, args, ()).read:
            read.setdefault(id(t), t)
    more = list(read.values())
    return [_TracedFunction(mode, above, fn, args, more) for fn in functions], more


def _node(
    mode: ProxyTorchDispatchMode,
    name: str,
    graphs: Mapping[str, _TracedFunction],
    before: tuple[Any, ...],
    behind: tuple[Any, ...],
    like: Sequence[Any],
) -> list[Any]:
    """Create a node that calls a higher-order operator with arguments ``before`` and ``behind``
    graphs, and return the proxies of its results, which are like those given."""
    tracer = mode.tracer
    attributes = []
    for label, traced in graphs.items():
        path = tracer.get_fresh_qualname(f"{label}_")
        setattr(tracer.root, path, traced.module)
        attributes.append(tracer.create_proxy("get_attr", path, (), {}))
    first, last = pytree.tree_map(tracer.standing_for, (before, behind))
    operator = getattr(custom.find("higher_order"), name)
    proxy = tracer.create_proxy("call_function", operator, (*first, *attributes, *last), {}, name)
    with disable_proxy_modes_tracing():
        results = [x.detach().clone() if isinstance(x, Tensor) else x for x in like]
    for i, x in enumerate(results):
        if isinstance(x, Tensor):
            tracer.track(x, proxy[i])
    proxy.node.meta["val"] = tuple(results)
    return results


def cond(
    mode: ProxyTorchDispatchMode,
    pred: Tensor,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any],
) -> Any:
    """Record ``torch.cond`` as one node. Raises RuntimeError for branches whose results differ."""
    (yes, no), read = _traced(mode, (true_fn, false_fn), tuple(operands))
    if yes.spec != no.spec:
        raise RuntimeError("torch.cond: true_fn and false_fn must return the same pytree structure")
    for i, (a, b) in enumerate(zip(yes.leaves, no.leaves, strict=True)):
        if describe(a) != describe(b):
            raise RuntimeError(
                f"The results of true_fn and false_fn in torch.cond differ: result {i} is "
                f"{describe(a)} in true_fn and {describe(b)} in false_fn"
            )
    given = [x for x in pytree.tree_leaves(operands) if isinstance(x, Tensor)]
    graphs = {"true_graph": yes, "false_graph": no}
    results = _node(mode, "cond", graphs, (pred,), ((*given, *read),), yes.leaves)
    return pytree.tree_unflatten(results, yes.spec)


def while_loop(
    mode: ProxyTorchDispatchMode,
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carried: Sequence[Any],
) -> Any:
    """Record ``torch.while_loop`` as one node. Raises NotImplementedError where what is carried is
    not tensors alone."""
    leaves, spec = pytree.tree_flatten(tuple(carried))
    if not all(isinstance(x, Tensor) for x in leaves):
        raise NotImplementedError(
            "torch.while_loop of Python numbers in a traced graph: carry tensors of one element"
        )
    (test, body), read = _traced(mode, (cond_fn, body_fn), tuple(carried))
    graphs = {"while_loop_cond_graph": test, "while_loop_body_graph": body}
    results = _node(mode, "while_loop", graphs, (), (tuple(leaves), tuple(read)), leaves)
    return pytree.tree_unflatten(results, spec)
