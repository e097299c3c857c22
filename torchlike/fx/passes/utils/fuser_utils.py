"""Nodes of a graph exchanged for a call of a module that has them."""

from __future__ import annotations

import copy
from collections.abc import Container, Mapping
from typing import Any

from torchlike._runtime.reference import follows
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node
from torchlike.fx.passes.tools_common import (
    NodeList,
    NodeSet,
    legalize_graph,
    stable_order,
    stable_topological_sort,
)
from torchlike.fx.passes.utils._partitions import validate_partition as validate_partition
from torchlike.fx.passes.utils.common import lift_subgraph_as_module
from torchlike.fx.proxy import Proxy

__all__ = [
    "NodeList",
    "NodeSet",
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "legalize_graph",
    "topo_sort",
    "validate_partition",
]


def topo_sort(nodes: NodeList) -> NodeList:
    """Sort the nodes into an order in which they can run, otherwise as they came. Raises
    AssertionError where there is none."""
    order = stable_order(nodes)
    if len(order) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return order


def _checked(gm: GraphModule, nodes: NodeList) -> None:
    for node in nodes:
        if node.graph.owning_module is not gm:
            name = gm._get_name()
            raise AssertionError(f"{node} doesn't belong to passed in graph module {name}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: NodeList,
    module_name: str,
    partition_lookup_table: Container[Node] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """Return a module with copies of nodes of ``gm``, which come in an order in which they can run.

    Returns:
      the module, of the class ``module_name``; the nodes of ``gm`` that it takes, in the order of
      its parameters; those that it gives: a tuple where there are several, or always with
      ``always_return_tuple``.

    AssertionError for nodes of another module, erased nodes, and nodes that depend on themselves by
    way of others.
    """
    _checked(gm, nodes)
    inside = dict.fromkeys(nodes) if partition_lookup_table is None else partition_lookup_table
    graph = Graph()
    taken: dict[Node, Node] = {}
    copies: dict[Node, Node] = {}

    for node in _outside(gm, nodes, inside):
        taken[node] = graph.placeholder(node.name, type_expr=node.type)
        taken[node].meta = copy.copy(node.meta)

    def own(node: Node) -> Node:
        return copies[node] if node in inside else taken[node]

    for node in nodes:
        copies[node] = graph.node_copy(node, own)
    given = [node for node in nodes if any(user not in inside for user in node.users)]
    results = tuple(copies[node] for node in given)
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    graph.lint()
    fused, _ = lift_subgraph_as_module(gm, graph, class_name=module_name)
    return fused, tuple(taken), tuple(given)


def _outside(gm: GraphModule, nodes: NodeList, inside: Container[Node]) -> list[Node]:
    """Return what nodes take from outside, in the order of a fused module's parameters."""
    found = list(
        dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in inside)
    )
    in_order = follows("fused modules take placeholders in order")
    if in_order and all(node.op == "placeholder" for node in found):
        return [node for node in gm.graph.nodes if node in found]
    return found


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> GraphModule:
    """Put a call of ``sub_gm`` after a node of ``gm`` (the last of ``orig_outputs``, where none is
    named), and let the users of ``orig_outputs`` use its results. AssertionError where there is
    neither. Gives ``gm``."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    if insertion_point is None:
        insertion_point = next((n for n in reversed(gm.graph.nodes) if n in orig_outputs), None)
    if insertion_point is None:
        raise AssertionError(
            "Cannot determine insertion point: no insertion_point provided and orig_outputs is "
            "empty. Pass the last partition node as insertion_point."
        )
    with gm.graph.inserting_after(insertion_point):
        call = gm.graph.call_module(name, args=orig_inputs)
    result = sub_gm.graph.output_node().args[0]
    with gm.graph.inserting_before(call.next):
        if len(orig_outputs) == 1 and not isinstance(result, tuple):
            orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
        elif orig_outputs:
            for i, node in enumerate(orig_outputs):
                node.replace_all_uses_with(Proxy(call)[i].node, propagate_meta=True)
            call.meta["val"] = tuple(node.meta.get("val") for node in orig_outputs)
    return gm


def erase_nodes(gm: GraphModule, nodes: NodeList) -> None:
    """Remove nodes, the last first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule,
    partitions: list[Mapping[Node, Any]],
    prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:
    """Exchange, in place, the nodes of each partition (the keys) for a call of a submodule
    ``fused_N``. AssertionError for a partition that depends on itself by way of other nodes."""
    for number, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        fused, taken, given = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{number}", partition, always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, fused, taken, given, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm
