"""What passes ask of nodes, and nodes brought into an order in which they can run."""

from __future__ import annotations

import collections
import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node, _get_qualified_name
from torchlike.fx.passes._fusion_groups import CALLABLE_NODE_OPS, FxNetAccFusionsFinder
from torchlike.tensor import Tensor

__all__ = [
    "CALLABLE_NODE_OPS",
    "FxNetAccFusionsFinder",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
]

NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
Tensors = tuple[Tensor] | list[Tensor]
TensorOrTensors = Tensor | Tensors

#: Arithmetic on sizes and assertions, by name: `legalize_graph` puts them as early as it can.
_EARLY_TEXT = """
    _operator.add _operator.mul _operator.sub _operator.floordiv _operator.truediv _operator.mod
    _operator.le _operator.lt _operator.ge _operator.gt _operator.eq _operator.ne
    torch.ops.aten.sym_constrain_range.default torch.ops.aten.sym_constrain_range_for_size.default
    torch.ops.aten._assert_async.msg torch.ops.aten.scalar_tensor.default
    torch.ops.aten._assert_scalar.default"""
_EARLY = frozenset(_EARLY_TEXT.split())


def get_acc_ops_name(k: Any) -> str:
    """Return a class or function by its module and name, as tables of backends write it. A string
    is given back."""
    if isinstance(k, str):
        return k
    home = k.__module__ or ""
    if "acc_ops" in home:
        return f"acc_ops.{k.__name__}"
    return f"{home.replace('torchlike', 'torch', 1)}.{k.__name__}"


def get_node_target(submodules: Mapping[str, Any], node: Node) -> str:
    """Return the name of what a node calls: a module's class, a function's path, a method's name.

    AssertionError for a node that calls nothing.
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}"
        )
    if node.op == "call_module":
        module = submodules[node.target]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    if node.op == "call_method":
        return node.target
    if "acc_ops" in (getattr(node.target, "__module__", None) or ""):
        return f"acc_ops.{node.target.__name__}"
    return _get_qualified_name(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Return whether a node gives a tensor: ``ShapeProp`` must have noted its type."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, Tensor)


def stable_order(nodes: Iterable[Node]) -> list[Node]:
    """Sort the nodes so that each comes after those among them that it uses, otherwise as they
    came. Nodes of a cycle, and those that use them, are left out."""
    place = {node: i for i, node in enumerate(nodes)}
    waiting = {node: sum(n in place for n in node.all_input_nodes) for node in place}
    ready = [(place[node], node) for node, count in waiting.items() if not count]
    order = []
    while ready:
        _, node = heapq.heappop(ready)
        order.append(node)
        for user in node.users:
            if user in place:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, (place[user], user))
    return order


def _in_order(gm: GraphModule, order: list[Node], error: type[Exception]) -> GraphModule:
    """Arrange a module's nodes in another order. Raises ``error`` where some are missing from
    it."""
    missing = set(gm.graph.nodes).difference(order)
    if missing:
        left = [n for n in gm.graph.nodes if n in missing]
        raise error(f"Input graph has cycles, unable to add {left}")
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in order:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph._codegen = gm.graph._codegen
    gm.graph = graph
    return gm


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Bring the nodes of a module's graph, in place, into an order in which they can run, and leave
    the order otherwise. AssertionError where there is none."""
    return _in_order(gm, stable_order(gm.graph.nodes), AssertionError)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Bring the nodes of a module's graph, in place, into an order in which they can run: those
    first that depend on nothing, then those that depend on them. RuntimeError where there is none.
    `stable_topological_sort` keeps the order where it can."""
    waiting = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    ready = collections.deque(node for node, count in waiting.items() if not count)
    order = []
    while ready:
        node = ready.popleft()
        order.append(node)
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                early = user.op == "call_function" and _get_qualified_name(user.target) in _EARLY
                put: Callable[[Node], None] = ready.appendleft if early else ready.append
                put(user)
    return _in_order(gm, order, RuntimeError)
