"""Where gradients are recorded in a graph that was traced above autograd.

A trace notes for each operator whether gradients were recorded (``PythonKeyTracer.grad_enabled``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import getitem as _getitem
from typing import Any

from torchlike._ops.aten import custom
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node, map_arg


def _regions(graph: Graph, recorded: Mapping[Node, bool], outside: bool) -> list[list[Node]]:
    """Runs of operators where recording differs from ``outside``. Parts of results belong to what
    gave them."""
    flags: dict[Node, bool] = {}
    for node in graph.nodes:
        before = next(iter(node.all_input_nodes), None)
        flags[node] = recorded.get(node, flags.get(before, outside) if before else outside)
        if node.op != "call_function":
            flags[node] = outside
    runs = groupby(graph.nodes, key=lambda n: flags[n] is not outside)
    return [list(nodes) for differs, nodes in runs if differs]


def with_switches(
    graph: Graph, recorded: Mapping[Node, bool], outside: bool, switch: Callable[[bool], Any]
) -> None:
    """Put a call of ``switch(enabled)`` before and behind each run of operators where recording
    differs from ``outside``."""
    for nodes in _regions(graph, recorded, outside):
        with graph.inserting_before(nodes[0]):
            graph.call_function(switch, (not outside,))
        with graph.inserting_after(nodes[-1]):
            graph.call_function(switch, (outside,))


def grouped(module: GraphModule, recorded: Mapping[Node, bool], outside: bool) -> None:
    """Make a submodule of each run of operators where recording differs from ``outside``, called by
    ``torch.ops.higher_order.wrap_with_set_grad_enabled``."""
    found = _regions(module.graph, recorded, outside)
    for i, nodes in enumerate(found, 1):
        _group(module, nodes, f"submod_{i}", not outside)
    if found:
        module.recompile()


def _group(module: GraphModule, nodes: Sequence[Node], path: str, enabled: bool) -> None:
    own = set(nodes)
    inputs = list(dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in own))
    results = [n for n in nodes if any(user not in own for user in n.users)]
    below = Graph()
    copies: dict[Node, Node] = {}
    for node in inputs:
        copies[node] = below.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    for node in nodes:
        copies[node] = below.node_copy(node, lambda n: copies[n])
    below.output(tuple(copies[n] for n in results))
    module.add_submodule(path, GraphModule(module, below, path))
    graph = module.graph
    operator = custom.find("higher_order").wrap_with_set_grad_enabled  # type: ignore[attr-defined]
    with graph.inserting_before(nodes[0]):
        attribute = graph.get_attr(path)
        call = graph.call_function(operator, (enabled, attribute, *inputs))
        call.meta["val"] = tuple(n.meta.get("val") for n in results)
        parts = [graph.call_function(_getitem, (call, i)) for i in range(len(results))]
    for node, part in zip(results, parts, strict=True):
        part.meta = dict(node.meta)
        for user in [u for u in node.users if u not in own and u is not part]:
            user.args = map_arg(user.args, lambda n, a=node, b=part: b if n is a else n)
            user.kwargs = map_arg(user.kwargs, lambda n, a=node, b=part: b if n is a else n)
    for node in reversed(nodes):
        graph.erase_node(node)
