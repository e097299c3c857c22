"""The nodes of a graph of operators, by the module or function whose call they came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torchlike.fx.graph import Graph
from torchlike.fx.node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """What one call of a source became: its nodes, those outside that it uses, those inside whose
    results are used outside, and the parameters among its inputs."""

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """Return, for each wanted source (a class of modules, a function, or the name of one), its
    calls.

    The sources are read from ``node.meta["source_fn_stack"]``; where there is none, from
    ``torch_fn`` for a function's name, else the innermost module of ``nn_module_stack`` is the
    source. ``filter_fn`` has to hold for all nodes of a call.
    """
    found: dict[Any, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        name, source = _source(node, wanted_sources)
        if source is not None:
            found.setdefault(source, {}).setdefault(name, []).append(node)
    result = {}
    for source, calls in found.items():
        kept = [
            nodes for nodes in calls.values() if filter_fn is None or all(map(filter_fn, nodes))
        ]
        if kept:
            result[source] = [_partition(nodes, source) for nodes in kept]
    return result


def _source(node: Node, wanted: list[Any]) -> tuple[str, Any]:
    """Return the call that a node came from, and the wanted source that it is a call of."""
    calls = node.meta.get("source_fn_stack")
    modules = node.meta.get("nn_module_stack")
    if calls:
        name, source = calls[-1]
    elif node.meta.get("torch_fn") and node.meta["torch_fn"][1].split(".")[1] in wanted:
        name, said = node.meta["torch_fn"]
        source = said.split(".")[1]
    elif modules:
        name, source = list(modules.values())[-1]
    else:
        return "", None
    for asked in wanted:
        if source == asked or (not calls and source == _path(asked)):
            return name, asked
    return "", None


def _path(source: Any) -> str | None:
    """Return the path by which exported programs name a class."""
    if not isinstance(source, type):
        return None
    return f"{source.__module__.replace('torchlike', 'torch', 1)}.{source.__qualname__}"


def _partition(nodes: list[Node], source: Any) -> SourcePartition:
    inside = set(nodes)
    used = dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in inside)
    given = [n for n in nodes if any(user not in inside for user in n.users)]
    parameters = [n for n in nodes if n.op == "get_attr"]
    parameters += [n for n in used if n.op == "get_attr"]
    inputs = [n for n in used if n.op != "get_attr"]
    return SourcePartition(nodes, source, inputs, given, parameters)


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Return whether the second partition uses a result of the first."""
    inside = set(subgraph1.nodes)
    return any(used in inside for node in subgraph2.nodes for used in node.all_input_nodes)
