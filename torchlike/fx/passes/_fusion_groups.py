"""Nodes that hand each other something other than tensors, and so must not be separated."""

from __future__ import annotations

from collections.abc import Iterable

from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node

#: Operations that call something, in the order in which messages list them.
CALLABLE_NODE_OPS = {"call_module": None, "call_function": None, "call_method": None}.keys()


class _Group:
    """Nodes that stay together, and what they use."""

    def __init__(self, first: Node, place: int) -> None:
        self.top = place
        self.nodes = {first}
        self.inputs = set(first.all_input_nodes)
        self.to_visit = {first}

    def add(self, node: Node) -> None:
        if node in self.nodes:
            return
        self.to_visit.add(node)
        self.nodes.add(node)
        self.inputs.discard(node)
        self.inputs.update(
            n for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS and n not in self.nodes
        )


class FxNetAccFusionsFinder:
    """``finder()`` maps each node of a group to the group's nodes.

    A group is grown from each of ``acc_nodes`` that has no ``tensor_meta`` (it gives no tensor), by
    its users, by inputs that give no tensor, and by what lies between two members. Groups with a
    node outside of ``acc_nodes`` are dropped, and their nodes taken out of ``acc_nodes``.
    """

    def __init__(self, module: GraphModule, acc_nodes: set[Node]) -> None:
        self.module = module
        self.nodes = list(module.graph.nodes)
        self.acc_nodes = acc_nodes
        self.node_index = {node: i for i, node in enumerate(self.nodes)}

    def __call__(self) -> dict[Node, set[Node]]:
        found: dict[Node, set[Node]] = {}
        for node in sorted(self.acc_nodes, key=self.node_index.__getitem__):
            if node in found or node not in self.acc_nodes or "tensor_meta" in node.meta:
                continue
            if node.op in CALLABLE_NODE_OPS:
                group = self._grown(node)
                if group <= self.acc_nodes:
                    found.update(dict.fromkeys(group, group))
                else:
                    self.acc_nodes -= group
        return found

    def _grown(self, first: Node) -> set[Node]:
        group = _Group(first, self.node_index[first])
        while group.to_visit:
            node = group.to_visit.pop()
            self._add_between(group, group.inputs, set())
            if "tensor_meta" not in node.meta:
                for user in node.users:
                    self._add(group, user)
            for arg in node.all_input_nodes:
                if "tensor_meta" not in arg.meta:
                    self._add(group, arg)
        return group.nodes

    def _add(self, group: _Group, node: Node) -> None:
        if node.op not in CALLABLE_NODE_OPS or node in group.nodes:
            return
        group.add(node)
        group.top = min(group.top, self.node_index[node])
        self._add_between(group, group.inputs, set())

    def _add_between(self, group: _Group, inputs: Iterable[Node], seen: set[Node]) -> bool:
        """Add the nodes on a path from the group to ``inputs``, and return whether there is one, as
        far as the first that was found."""
        for arg in list(inputs):
            if arg in seen or arg.op not in CALLABLE_NODE_OPS:
                continue
            seen.add(arg)
            if self.node_index[arg] < group.top:
                continue
            if arg in group.nodes:
                return True
            if self._add_between(group, arg.all_input_nodes, seen):
                group.add(arg)
                return True
        return False
