"""Common subexpressions of a graph of operators are computed once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torchlike
from torchlike._ops.aten.custom import OpOverload
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node, map_arg
from torchlike.fx.passes.infra.pass_base import PassBase, PassResult
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree

__all__ = ["CSEPass", "get_CSE_banned_ops"]

#: Operators whose calls differ though their arguments are equal.
_RANDOM = """_fused_dropout _standard_gamma bernoulli binomial dropout multinomial native_dropout
    normal poisson rand rand_like randint randn randperm rrelu"""
_IN_PLACE = "add_ div_ lerp_ mul_ pow_ relu_ sigmoid_ sub_ tanh_"


def get_CSE_banned_ops() -> set[Any]:
    """Return the operators (``torch.ops.aten.NAME``) whose calls are never merged into one."""
    aten = torchlike.ops.aten
    names = f"{_RANDOM} {_IN_PLACE}".split()
    return {getattr(aten, name) for name in names if hasattr(aten, name)}


class CSEPass(PassBase):
    """A graph in which calls of one operator with equal arguments are one call.

    Calls of ``banned_ops``, of operators that write into their arguments or draw random numbers,
    and of modules stay as they are, as does what reads a tensor that the graph writes to.

    Differs from PyTorch: its pass knows writes by ``banned_ops`` alone.
    """

    def __init__(self, banned_ops: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.banned_ops = set(banned_ops or ())

    def call(self, graph_module: Any) -> PassResult:
        """Merge equal calls, and return the new module and whether it has fewer nodes."""
        made = Graph(tracer_cls=graph_module.graph._tracer_cls)
        copies: dict[Node, Node] = {}
        known: dict[Any, Node] = {}
        modified = False
        written = any(map(_writes, graph_module.graph.nodes))
        for node in graph_module.graph.nodes:
            key = None if written else self._key(node, copies)
            same = None if key is None else known.get(key)
            if same is not None:
                copies[node], modified = same, True
                continue
            copies[node] = made.node_copy(node, lambda n: copies[n])
            if key is not None:
                known[key] = copies[node]
        made._codegen = graph_module.graph._codegen
        result = GraphModule(graph_module, made)
        result.meta.update(graph_module.meta)
        return PassResult(result, modified)

    def _key(self, node: Node, copies: dict[Node, Node]) -> Any:
        """Return a key that equal calls share; None for a call that stands for itself."""
        if node.op == "get_attr":
            return node.op, node.target
        if node.op != "call_function" or node.is_impure():
            return None
        target = node.target
        packet = target.overloadpacket if isinstance(target, OpOverload) else target
        if packet in self.banned_ops or packet in get_CSE_banned_ops():
            return None
        # Nodes by their copies, so that what depends on equal calls is equal too.
        args, kwargs = (map_arg(a, lambda n: copies[n]) for a in (node.args, node.kwargs))
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if any(isinstance(leaf, Tensor) for leaf in leaves):
            return None
        # True == 1 == 1.0, but calls with them differ, as do those with 0.0 and -0.0.
        key = target, str(spec), tuple((type(leaf), leaf, repr(leaf)) for leaf in leaves)
        try:
            hash(key)
        except TypeError:
            return None
        return key


def _writes(node: Node) -> bool:
    """Return whether a node writes into a tensor that it is given."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and getattr(schema, "is_mutable", False)
