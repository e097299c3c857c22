"""A part of a module's graph as a module of its own."""

from __future__ import annotations

from typing import Any

from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.passes.utils.matcher_utils import SubgraphMatcher
from torchlike.nn.modules.module import Module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module that has modules and does nothing: ``HolderModule({"name": module})``."""

    def __init__(self, d: dict[str, Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """Return a module of a graph whose nodes name attributes of ``gm``, and the new path of each of
    those.

    The attributes (the same objects) have the same paths below modules that hold them.
    """
    root = HolderModule({})
    moved: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        here: Any = root
        there: Any = gm
        *path, last = node.target.split(".")
        for part in path:
            if not hasattr(here, part):
                here.add_module(part, HolderModule({}))
            here, there = getattr(here, part), getattr(there, part)
        setattr(here, last, getattr(there, last))
        moved[node.target] = f"{comp_name}.{node.target}"
    return GraphModule(root, subgraph, class_name), moved


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Return whether two graphs are the same: inputs, nodes, connections and outputs, in order."""
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return bool(matcher.match(right))
