"""Groups the nodes that a backend takes, as few groups as there can be without circles."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node, _get_qualified_name
from torchlike.fx.passes.operator_support import OperatorSupportBase
from torchlike.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]

logger = logging.getLogger(__name__)

#: Calls that compute nothing: a partition of one other node and these has one node.
_NON_COMPUTE = {"torch.ops.aten.view", "_operator.getitem"}


class Partition:
    """Nodes that become one call: the keys of ``nodes``. AssertionError where ``node_orders`` are
    not as many as ``nodes``."""

    def __init__(
        self,
        id: int | None = None,
        nodes: Iterable[Node] | None = None,
        node_orders: Iterable[int] | None = None,
    ) -> None:
        self.id = id
        given = list(nodes or ())
        orders = [None] * len(given) if node_orders is None else list(node_orders)
        if len(orders) != len(given):
            raise AssertionError("nodes and node_orders must have the same length")
        self.nodes: dict[Node, int | None] = dict(zip(given, orders, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Add a node; ``node_order`` counts from the end of the graph."""
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Remove a node. Raises KeyError for one that is not there."""
        del self.nodes[node]

    def size(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)


class _Groups:
    """Partitions while they grow. Sets of nodes are integers with a bit for each node, so that one
    operation compares whole sets."""

    def __init__(self, nodes: list[Node]) -> None:
        self.bit = {node: 1 << i for i, node in enumerate(nodes)}
        #: What depends on a node, directly or not.
        self.after: dict[Node, int] = {}
        for node in reversed(nodes):
            self.after[node] = self._ways_from(node.users)
        self.parts: dict[int, Partition] = {}
        #: The nodes of a partition, what depends on its nodes, and its first member's id.
        self.inside: dict[int, int] = {}
        self.downstream: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.of: dict[Node, int] = {}

    def _ways_from(self, nodes: Iterable[Node]) -> int:
        reached = 0
        for node in nodes:
            reached |= self.bit[node] | self.after[node]
        return reached

    def add(self, node: Node, order: int, id: int) -> None:
        """Add a partition of one node."""
        self.parts[id] = Partition(id, [node], [order])
        self.inside[id], self.downstream[id] = self.bit[node], self.after[node]
        self.first[id] = id
        self.of[node] = id

    def _circular(self, a: int, b: int) -> bool:
        """Return whether a path leads out of two partitions and back, through other ones as
        wholes."""
        inside = self.inside[a] | self.inside[b]
        users = dict.fromkeys(
            user for id in (a, b) for node in self.parts[id].nodes for user in node.users
        )
        reached = self._ways_from(n for n in users if not self.bit[n] & inside)
        others = [id for id in self.parts if id not in (a, b)]
        while not reached & inside:
            met = [id for id in others if reached & self.inside[id]]
            if not met:
                return False
            for id in met:
                reached |= self.downstream[id]
            others = [id for id in others if id not in met]
        return True

    def merge(self, a: int, b: int) -> int:
        """Merge two partitions, unless that closes a cycle, and return which of them remains: the
        larger, ``a`` where they are equal or nothing was done."""
        if self._circular(a, b):
            return a
        kept, gone = (b, a) if self.parts[a].size() < self.parts[b].size() else (a, b)
        removed = self.parts.pop(gone)
        self.parts[kept].nodes.update(removed.nodes)
        self.of.update(dict.fromkeys(removed.nodes, kept))
        self.inside[kept] |= self.inside.pop(gone)
        self.downstream[kept] |= self.downstream.pop(gone)
        self.first[kept] = min(self.first[kept], self.first.pop(gone))
        return kept

    def move(self, node: Node, id: int | None) -> None:
        """Move a node into another partition, or (None) out of all."""
        if node in self.of:
            self.parts[self.of.pop(node)].remove_node(node)
        if id is not None:
            self.of[node] = id
            self.parts[id].add_node(node)


class CapabilityBasedPartitioner:
    """Finds nodes that ``operator_support`` takes and that can run as one, and has them run so.

    ``propose_partitions()`` gives the partitions, ``fuse_partitions(partitions)`` exchanges each
    for a call of a submodule, ``partition_and_fuse()`` does both. No partition depends on itself by
    way of others.

    Args:
      graph_module: the module; it is changed in place.
      operator_support: says of each node whether it is taken.
      allows_single_node_partition: keep partitions with fewer than two nodes that compute.
      non_compute_ops: names of functions that compute nothing.
      allowed_single_node_partition_ops: names of functions that may be alone.
      skip_horizontal_fusion: only join a node with partitions that use its result.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(self._submodules(), node)

    def _submodules(self) -> dict[str, Any]:
        return dict(self.graph_module.named_modules())

    def propose_partitions(self) -> list[Partition]:
        """Return the partitions, from the end of the graph on; their nodes are in the order of the
        graph."""
        nodes = list(self.graph_module.graph.nodes)
        groups = _Groups(nodes)
        for order, node in enumerate(reversed(nodes)):
            self._take(groups, node, order)
        for part in groups.parts.values():
            in_order = sorted(part.nodes.items(), key=lambda item: -(item[1] or 0))
            part.nodes = dict(in_order)
        while moves := dict(_getitems_elsewhere(groups, nodes)):
            for node, id in moves.items():
                groups.move(node, id)
        found = [p for p in groups.parts.values() if p.size() and self._is_large_enough(p)]
        for part in found:
            logger.debug("partition #%s: %s", part.id, [node.name for node in part.nodes])
        return found

    def _take(self, groups: _Groups, node: Node, order: int) -> None:
        """Place a node in a partition where it is supported, and merge what can be merged now. (A
        node that is not taken can also be why others may be: what uses it has been seen.)"""
        candidates: list[int] = []
        if self._is_node_supported(node):
            id = len(groups.of)
            groups.add(node, order, id)
            candidates.append(id)
        if self.skip_horizontal_fusion:
            if candidates:
                candidates += [groups.of[user] for user in node.users if user in groups.of]
        else:
            candidates += sorted(groups.parts, key=groups.first.__getitem__)
        kept: int | None = None
        for id in dict.fromkeys(candidates):
            kept = id if kept is None else groups.merge(kept, id)

    def _is_large_enough(self, part: Partition) -> bool:
        if self.allows_single_node_partition:
            return True
        ignored = _NON_COMPUTE.union(self.non_compute_ops)
        names = [_get_qualified_name(n.target) for n in part.nodes if n.op == "call_function"]
        computing = sum(name not in ignored for name in names)
        alone = sum(name in self.allowed_single_node_partition_ops for name in names)
        return computing + alone > 1

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Fuse each partition into a call of a submodule ``fused_N``, and return the module."""
        return fuse_by_partitions(self.graph_module, [p.nodes for p in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Take out of partitions the nodes of ``non_compute_ops`` at their beginning and end."""
        for part in partitions:
            ends = _Ends(part, set(self.non_compute_ops))
            for node in ends.found:
                part.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Fuse each partition that is proposed into a call of a submodule, and return the
        module."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


def _getitems_elsewhere(groups: _Groups, nodes: list[Node]) -> Iterator[tuple[Node, int | None]]:
    """Yield the nodes that take a part of a tuple and are not in the partition where the tuple is
    made, and that partition."""
    for node in nodes:
        if all(_is_getitem(user) for user in node.users):
            for user in node.users:
                if groups.of.get(user) != groups.of.get(node):
                    yield user, groups.of.get(node)


def _is_getitem(node: Node) -> bool:
    return node.op == "call_function" and _get_qualified_name(node.target) == "_operator.getitem"


class _Ends:
    """Nodes of a partition that compute nothing and have only such between them and its inputs, or
    between them and its outputs."""

    def __init__(self, part: Partition, names: set[str]) -> None:
        self.part, self.names = part, names
        self.found: dict[Node, None] = {}
        self.known: dict[tuple[Node, bool], bool] = {}
        for node in part.nodes:
            if self._idle(node) and (self._open(node, True) or self._open(node, False)):
                self.found[node] = None

    def _idle(self, node: Node) -> bool:
        return node.op == "call_function" and _get_qualified_name(node.target) in self.names

    def _open(self, node: Node, towards_inputs: bool) -> bool:
        if node.op == "placeholder" or node not in self.part.nodes or node in self.found:
            return True
        key = node, towards_inputs
        if key not in self.known:
            beyond = node.all_input_nodes if towards_inputs else node.users
            self.known[key] = self._idle(node) and all(
                self._open(n, towards_inputs) for n in beyond
            )
        return self.known[key]
