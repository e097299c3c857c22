"""Replaces each place where a pattern occurs in a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from torchlike.fx._symbolic_trace import symbolic_trace
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Argument, Node
from torchlike.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from torchlike.nn.modules.module import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place: its last node, and the graph's node for each of the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place that was replaced, with the new nodes."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace each place of ``pattern`` by ``replacement`` (functions, modules or graphs with the
    same arguments). Gives the places."""
    replaced = _replace(gm, pattern, replacement)
    return [Match(r.anchor, r.nodes_map) for r in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: Any = None,
    ignore_literals: bool = False,
    replacement_callback: Any = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """Replace a pattern as ``replace_pattern`` does, where all ``match_filters(match, original
    graph, pattern graph)`` agree.

    ``replacement_callback(match, original graph, pattern graph)`` gives a replacement for each
    place."""
    return _replace(
        gm,
        pattern,
        replacement,
        match_filters,
        ignore_literals,
        replacement_callback,
        node_name_match,
    )


def _graph_of(value: Any) -> Graph:
    if isinstance(value, GraphModule):
        return value.graph
    return value if isinstance(value, Graph) else symbolic_trace(value).graph


def _replace(
    gm: GraphModule,
    pattern: Any,
    replacement: Any,
    match_filters: Any = None,
    ignore_literals: bool = False,
    callback: Callable[..., Any] | None = None,
    name: str = "",
) -> list[ReplacedPatterns]:
    original, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    matches = [
        m
        for m in matcher.match(original, name)
        if all(keep(m, original, pattern_graph) for keep in match_filters or ())
    ]
    common = None
    if callback is None:
        if replacement is None:
            raise AssertionError("Must provide either replacement GraphModule or callback")
        common = _graph_of(replacement)
    changed: dict[Node, Node] = {}
    done = []
    for match in matches:
        new = common if common is not None else callback(match, original, pattern_graph)  # type: ignore[misc]
        new = _graph_of(new)
        _check(match, pattern_graph, new)
        done.append(_replace_one(gm, match, pattern_graph, new, changed))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    elif not isinstance(pattern, Graph) and common is not None and common.owning_module is not None:
        _take_attributes(gm, common.owning_module)
    return done


def _check(match: InternalMatch, pattern: Graph, new: Graph) -> None:
    ours = [n for n in new.nodes if n.op == "placeholder"]
    if len(match.placeholder_nodes) != len(ours):
        raise AssertionError(
            f"pattern has {len(match.placeholder_nodes)} placeholders, the replacement {len(ours)}"
        )


def _replace_one(
    gm: GraphModule, match: InternalMatch, pattern: Graph, new: Graph, changed: dict[Node, Node]
) -> ReplacedPatterns:
    original = gm.graph
    values: dict[Node, Any] = {}
    for mine, given in zip(
        [n for n in new.nodes if n.op == "placeholder"], match.placeholder_nodes, strict=True
    ):
        values[mine] = changed.get(given, given) if isinstance(given, Node) else given
    inside = {
        g
        for p, g in match.nodes_map.items()
        if p.op not in ("placeholder", "output") and isinstance(g, Node)
    }
    outside = {u for n in match.returning_nodes for u in n.users if u not in inside}
    first = min(outside, default=None)
    given_nodes = [v for v in values.values() if isinstance(v, Node)]
    if inside and first is None:
        first = max(inside).next
    before = set(original.nodes)
    with original.inserting_before(first if inside else max(given_nodes).next):
        result = original.graph_copy(new, values)  # type: ignore[arg-type]
    returned = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(returned) != len(match.returning_nodes):
        raise AssertionError("the pattern and the replacement do not return as many values")
    for old, made in zip(match.returning_nodes, returned, strict=True):
        old.replace_all_uses_with(made)
        changed[old] = made
    for node in reversed(pattern.nodes):
        mine = match.nodes_map.get(node)
        if node.op not in ("placeholder", "output") and isinstance(mine, Node):
            original.erase_node(mine)
    made = [n for n in original.nodes if n not in before]
    return ReplacedPatterns(
        match.anchors[0] if match.anchors else returned[0], match.nodes_map, made
    )


def _take_attributes(gm: GraphModule, replacement: Module) -> None:
    gm.delete_all_unused_submodules()

    def at(module: Any, path: str) -> Argument:
        for part in path.split("."):
            module = getattr(module, part, None)
        return module

    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or at(gm, node.target) is not None:
            continue
        value = at(replacement, node.target)
        if value is None:
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target '
                f"{node.target}, but the referenced attribute does not exist in the replacement "
                "GraphModule"
            )
        *path, field = node.target.split(".")
        here: Any = gm
        for part in path:
            if not hasattr(here, part):
                setattr(here, part, Module())
            here = getattr(here, part)
        setattr(here, field, value)
    gm.graph.lint()
