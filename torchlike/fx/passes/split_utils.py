"""Splits a module by the tags of its nodes."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Argument, Node, map_arg
from torchlike.fx.passes.tools_common import CALLABLE_NODE_OPS
from torchlike.fx.passes.utils.common import HolderModule, lift_subgraph_as_module
from torchlike.fx.proxy import Proxy
from torchlike.nn.modules.container import ModuleList

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj: Any, name: str) -> Argument:
    """Return the attribute at a path, or None where there is none."""
    for part in name.split("."):
        if isinstance(obj, ModuleList):
            obj = obj._modules.get(part)
        else:
            obj = getattr(obj, part, None)
        if obj is None:
            return None
    return obj


def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set the attribute at a path. AttributeError where the way to it is missing."""
    *path, last = attr.split(".")
    for part in path:
        obj = getattr(obj, part)
    setattr(obj, last, value)


@dataclass
class Component:
    """What becomes a submodule: its graph, and what that takes and gives in the module's graph.

    Attributes:
      input_placeholders: the placeholders of ``graph``, and the nodes of the module's graph that
        they stand for.
      orig_outputs: nodes of the module's graph that are results.
      getattr_maps: attributes: the node of the module's graph -> that of ``graph``.
    """

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


class _Split:
    """One module while it is split."""

    def __init__(self, gm: GraphModule, tags: list[str], returns_tuple: bool) -> None:
        self.gm, self.returns_tuple = gm, returns_tuple
        self.parts = {tag: Component(Graph(), i, tag) for i, tag in enumerate(tags)}
        self.of: dict[Node, Component] = {}
        self.copies: dict[Node, Node] = {}
        self.main = Graph()
        #: Nodes -> those of the main graph that have their values.
        self.values: dict[Node, Node] = {}
        #: Nodes whose values pass through the main graph.
        self.passing: dict[Node, None] = {}
        self.moved: dict[str, str] = {}

    def output(self) -> Node:
        """Return the module's output node. Raises RuntimeError where there is none, or more than
        one."""
        found = [n for n in self.gm.graph.nodes if n.op == "output"]
        if len(found) > 1:
            raise RuntimeError("Multiple output nodes in graph!")
        if not found:
            raise RuntimeError("Graph had no output node!")
        return found[0]

    def take(self, node: Node) -> None:
        """Copy a node into the part of its tag."""
        if node.op == "placeholder":
            self.values[node] = self.main.placeholder(node.name, type_expr=node.type)
            self.values[node].meta = copy.copy(node.meta)
        elif node.op in CALLABLE_NODE_OPS:
            if not hasattr(node, "tag"):
                raise AssertionError(f"Node does not have tag: {node.format_node()}")
            part = self.parts[node.tag]
            before = [self.of[n].order for n in node.all_input_nodes if n in self.of]
            if part.order < max(before, default=0):
                raise AssertionError(
                    f"Component {part.name} order must be >= max of its upstream components, "
                    f"order={part.order} and max={max(before)}"
                )
            self.of[node] = part
            made = part.graph.node_copy(node, lambda n: self.inside(part, n))
            made.tag = node.tag
            self.copies[node] = made

    def inside(self, part: Component, node: Node) -> Node:
        """Return the node that stands for another inside a part, adding an input to the part where
        it comes from outside."""
        if node.op == "get_attr":
            if node not in part.getattr_maps:
                made = part.graph.get_attr(node.target, type_expr=node.type)
                made.meta = copy.copy(node.meta)
                part.getattr_maps[node] = made
            return part.getattr_maps[node]
        if self.of.get(node) is part:
            return self.copies[node]
        if node not in part.orig_inputs:
            made = part.graph.placeholder(node.name, type_expr=node.type)
            made.meta = copy.copy(node.meta)
            part.orig_inputs.append(node)
            part.input_placeholders.append(made)
            self.passing[node] = None
        return part.input_placeholders[part.orig_inputs.index(node)]

    def finish(self, part: Component) -> None:
        """Make a part's module, and call it in the main graph."""
        results = tuple(self.copies[n] for n in part.orig_outputs)
        one = len(results) == 1 and not self.returns_tuple
        part.graph.output(results[0] if one else results)
        part.gm, moved = lift_subgraph_as_module(self.gm, part.graph, comp_name=part.name)
        self.moved.update(moved)
        call = self.main.call_module(part.name, tuple(self.values[n] for n in part.orig_inputs))
        for i, node in enumerate(part.orig_outputs):
            self.values[node] = call if one else Proxy(call)[i].node


def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> GraphModule | tuple[GraphModule, dict[str, str]]:
    """Split the module into submodules, one for each of ``tags``, which are called in this order.

    Each node that calls something has a ``tag``: it goes to the submodule of that name. A submodule
    takes what its nodes use of the others, and has the attributes that they use.

    Args:
      gm: the module; it stays as it is.
      tags: names of the submodules.
      return_fqn_mapping: give, too, where the attributes of ``gm`` are in the result.
      return_tuple: submodules always return tuples, also of one result.
      GraphModuleCls: the class of the result.

    AssertionError for a node without a tag, and where a node uses what a later submodule gives.
    """
    split = _Split(gm, tags, return_tuple)
    output = split.output()
    for node in gm.graph.nodes:
        split.take(node)
    attributes: dict[str, Any] = {}
    for node in output.all_input_nodes:
        if node.op == "get_attr":
            split.values[node] = split.main.get_attr(node.name, type_expr=node.type)
            attributes[node.name] = getattr_recursive(gm, node.target)
        else:
            split.passing[node] = None
    for node in split.passing:
        if node.op != "placeholder":
            split.of[node].orig_outputs.append(node)
    for part in split.parts.values():
        split.finish(part)
    split.main.output(map_arg(output.args[0], split.values.__getitem__))
    split.main._codegen = gm.graph._codegen
    root = HolderModule({part.name: part.gm for part in split.parts.values()})
    for name, value in attributes.items():
        setattr(root, name, value)
    made = GraphModuleCls(root, split.main)
    return (made, split.moved) if return_fqn_mapping else made
