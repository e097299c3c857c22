"""The sizes of what nodes give, and targets exchanged for others."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node
from torchlike.fx.passes.shape_prop import ShapeProp, TensorMetadata
from torchlike.tensor import Tensor

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]


def replace_target_nodes_with(
    fx_module: GraphModule, old_op: str, old_target: Any, new_op: str, new_target: Any
) -> None:
    """Exchange, in all nodes of an operation and a target, both for others."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        made = copies[node] = graph.node_copy(node, copies.__getitem__)
        if node.op == old_op and node.target == old_target:
            made.op, made.target = new_op, new_target
    fx_module.graph = graph


class size_bytes(NamedTuple):
    """How many bytes a node's result takes, and it with the parameters of the module called."""

    output_size: int
    total_size: int


def get_size_of_all_nodes(fx_module: GraphModule, args: list[Tensor] | None = None) -> None:
    """Put ``size_bytes`` on each node, after a run on ``args`` has noted the shapes."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op != "output":
            node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> TensorMetadata:
    """Return the metadata that ``ShapeProp`` noted of a node's tensor. Raises RuntimeError where it
    noted nothing."""
    found = node.meta.get("tensor_meta")
    if not found:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation "
            "has run."
        )
    return found


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """Return how many bytes a node's result takes, both by itself and with the parameters of the
    module called, as if those had its dtype. Raises RuntimeError where ``ShapeProp`` noted
    nothing."""
    meta = get_tensor_meta(node)
    parameters = 0
    if node.op == "call_module":
        parameters = sum(p.numel() for p in fx_module.get_submodule(node.target).parameters())
    elements = meta.shape.numel()
    return size_bytes(meta.dtype.itemsize * elements, meta.dtype.itemsize * (elements + parameters))
