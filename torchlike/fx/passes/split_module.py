"""Splits a module into parts, each a GraphModule of its own, called one after the other."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Argument, Node, map_arg
from torchlike.nn.modules.module import Module

__all__ = ["Partition", "split_module"]


class Partition:
    """A part: its nodes, what it takes and what it gives."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def add_node(self, node: Node) -> None:
        """Add a node to the part."""
        self.node_names.append(node.name)

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n "
            f"outputs: {self.outputs}"
        )


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool = False,
    keep_original_node_name: bool = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
) -> GraphModule:
    """Split the module into submodules ``submod_N``, one for each N that ``split_callback(node)``
    gives.

    ``qualname_map`` is told where targets of the submodules came from. RuntimeError where parts
    depend on each other in a circle.
    """
    names: dict[Node, str] = {}
    parts: dict[str, Partition] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        affix = "" if partition_affix is None else f"_{partition_affix}"
        name = f"{split_callback(node)}{affix}"
        part = parts.setdefault(name, Partition(name))
        part.add_node(node)
        names[node] = name
    _find_dependencies(m, names, parts)
    order = list(parts) if keep_original_order else _sorted(parts)
    base = _BaseGraph(m, parts, names, keep_original_node_name)
    base.copy_nodes(qualname_map)
    return base.assemble(order, keep_original_input_name)


def _find_dependencies(m: GraphModule, names: dict[Node, str], parts: dict[str, Partition]) -> None:
    for node in m.graph.nodes:
        user = names.get(node)
        for used in node.all_input_nodes:
            maker = names.get(used)
            if maker == user and maker is not None:
                continue
            if maker is not None:
                parts[maker].outputs.setdefault(used.name)
                if user is not None:
                    parts[user].dependencies.setdefault(maker)
                    parts[maker].dependents.setdefault(user)
            if user is not None:
                parts[user].inputs.setdefault(used.name)


def _sorted(parts: dict[str, Partition]) -> list[str]:
    waiting = {name: dict(p.dependencies) for name, p in parts.items()}
    ready = [name for name, needs in waiting.items() if not needs]
    order = []
    while ready:
        name = ready.pop(0)
        order.append(name)
        for user in parts[name].dependents:
            waiting[user].pop(name)
            if not waiting[user]:
                ready.append(user)
    if len(order) != len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return order


class _BaseGraph:
    def __init__(
        self, m: GraphModule, parts: dict[str, Partition], names: dict[Node, str], keep: bool
    ) -> None:
        self.m, self.parts, self.names, self.keep = m, parts, names, keep
        self.nodes = {n.name: n for n in m.graph.nodes}
        self.graph = Graph()
        self.env: dict[str, Any] = {}
        self.attributes: dict[str, Any] = {}

    def value(self, target: str) -> Argument:
        here: Any = self.m
        for part in target.split("."):
            if not hasattr(here, part):
                raise AttributeError(f"Operator target {target} not found!")
            here = getattr(here, part)
        return here

    def copy_nodes(self, qualname_map: dict[str, str] | None) -> None:
        for part in self.parts.values():
            for name in part.inputs:
                old = self.nodes[name]
                made = part.graph.placeholder(name, type_expr=old.type)
                made.meta = dict(old.meta)
                part.environment[old] = made
        for node in self.m.graph.nodes:
            if node not in self.names:
                continue
            part = self.parts[self.names[node]]

            def inside(n: Node, part: Partition = part) -> Node:
                return part.environment[n]

            args, kwargs = map_arg(node.args, inside), map_arg(node.kwargs, inside)
            target = node.target
            if node.op == "call_module":
                target = target.replace(".", "_")
                part.targets[target] = self.value(node.target)
                if qualname_map is not None:
                    qualname_map[f"{part.submod_name}.{target}"] = node.target
            made = part.graph.create_node(
                node.op, target, args, kwargs, node.name if self.keep else None, node.type
            )
            made.meta = dict(node.meta)
            part.environment[node] = made

    def outside(self, node: Node) -> Argument:
        return self.env[node.name]

    def assemble(self, order: list[str], keep_input_names: bool) -> GraphModule:
        for node in self.m.graph.nodes:
            if node.op == "placeholder":
                default = node.args[0] if node.args else inspect.Signature.empty
                made = self.graph.placeholder(
                    node.target if keep_input_names else node.name, node.type, default
                )
                made.meta = dict(node.meta)
                self.env[node.name] = made
            elif node.op == "get_attr":
                self.attributes[node.target] = self.value(node.target)
                made = self.graph.get_attr(node.target, node.type)
                made.meta = dict(node.meta)
                self.env[node.name] = made
        for name in order:
            part = self.parts[name]
            outputs = [part.environment[self.nodes[n]] for n in part.outputs]
            if len(outputs) == 1:
                part.graph.output(outputs[0])
            elif outputs:
                part.graph.output(tuple(outputs))
            else:
                part.graph.output(())
            self.attributes[part.submod_name] = GraphModule(part.targets, part.graph)
            call = self.graph.call_module(
                part.submod_name, tuple(self.outside(self.nodes[n]) for n in part.inputs)
            )
            if len(outputs) == 1:
                self.env[next(iter(part.outputs))] = call
            for i, output in enumerate(part.outputs if len(outputs) > 1 else ()):
                self.env[output] = self.graph.call_function(operator.getitem, (call, i))
        for node in self.m.graph.nodes:
            if node.op == "output":
                made = self.graph.output(map_arg(node.args[0], self.outside))
                made.meta = dict(node.meta)
        return GraphModule(self.attributes, self.graph)
