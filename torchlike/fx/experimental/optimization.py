"""Modules made cheaper for inference: batch norms folded into layers, dropout left out."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from typing import Any

from torchlike import nn
from torchlike.fx._symbolic_trace import symbolic_trace
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.interpreter import Transformer
from torchlike.fx.node import Argument, Node
from torchlike.nn.modules.module import Module
from torchlike.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = [
    "extract_subgraph",
    "fuse",
    "matches_module_pattern",
    "optimize_for_inference",
    "remove_dropout",
    "replace_node_module",
]

#: A layer, the batch norm that follows it, and what folds them.
_FOLDED = (
    (nn.Conv1d, nn.BatchNorm1d, fuse_conv_bn_eval),
    (nn.Conv2d, nn.BatchNorm2d, fuse_conv_bn_eval),
    (nn.Conv3d, nn.BatchNorm3d, fuse_conv_bn_eval),
    (nn.Linear, nn.BatchNorm1d, fuse_linear_bn_eval),
)


def _parent_name(target: str) -> tuple[str, str]:
    """Split a path into all but its last part, and that part."""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Module]) -> bool:
    """Return whether a node calls a module of the second type on what one of the first type
    gives."""
    if not node.args:
        return False
    return all(
        isinstance(n, Node) and n.op == "call_module" and type(modules.get(n.target)) is kind
        for kind, n in zip(pattern, (node.args[0], node), strict=False)
    )


def replace_node_module(node: Node, modules: dict[str, Module], new_module: Module) -> None:
    """Have a node call another module, which takes the old one's place in ``modules`` and in its
    parent."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """Return the model, in eval mode, with each batch norm folded into the convolution or linear
    layer before it.

    Args:
      model: the model. It is copied unless ``inplace``, and traced unless it is a GraphModule and
        ``no_trace``.

    Batch norms without running statistics stay, and those of layers whose result is used elsewhere.

    Differs from PyTorch: batch norms of layers that are called more than once stay too; PyTorch
    folds them into the layer once for each call.
    """
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules: dict[str, Any] = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    calls = Counter(node.target for node in graph.nodes if node.op == "call_module")
    for layer, norm, folded in _FOLDED:
        for node in graph.nodes:
            if not matches_module_pattern((layer, norm), node, modules):
                continue
            before, own = node.args[0], modules[node.target]
            if len(before.users) > 1 or calls[before.target] > 1 or not own.track_running_stats:
                continue
            replace_node_module(before, modules, folded(modules[before.target], own))
            node.replace_all_uses_with(before)
            graph.erase_node(node)
    return GraphModule(traced, graph)


class _WithoutDropout(Transformer):
    def call_module(self, target: Any, args: Any, kwargs: Any) -> Argument:
        if isinstance(self.submodules[target], nn.Dropout):
            return args[0] if args else kwargs["input"]
        return super().call_module(target, args, kwargs)


def remove_dropout(model: Module) -> GraphModule:
    """Trace the model and return it without its layers of dropout."""
    return _WithoutDropout(symbolic_trace(model)).transform()


def extract_subgraph(
    orig_module: Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]
) -> GraphModule:
    """Return a module of some nodes of a graph, which takes ``inputs`` and gives a list of
    ``outputs``."""
    graph = Graph()
    copies: dict[Node, Node] = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output([copies[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


def optimize_for_inference(
    model: Module, pass_config: dict[str, Any] | None = None, tracer: Any = None
) -> Module:
    """Raise NotImplementedError: it is about layouts of memory of one backend for CPUs."""
    raise NotImplementedError(
        "optimize_for_inference: XLA chooses the layouts of memory. Use instead: "
        "fuse(remove_dropout(model).eval()) and torchlike.jit"
    )
