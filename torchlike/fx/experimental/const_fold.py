"""What a graph computes of a module's attributes alone is computed once, ahead of its calls."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

from torchlike._runtime.reference import follows
from torchlike.fx._symbolic_trace import symbolic_trace
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Argument, Node
from torchlike.nn.modules.container import ParameterList
from torchlike.nn.modules.module import Module
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module whose first call, or ``run_folding()``, computes its constant part.

    ``const_subgraph_module`` is that part, or None; its results are attributes from then on: a
    Parameter, or a ParameterList where there are several.
    """

    def __init__(
        self,
        root: Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = (
            None if const_subgraph is None else GraphModule(root, const_subgraph)
        )
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Argument:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constant part. It is done once."""
        name = self.fx_const_folded_attrs_name
        if self.const_subgraph_module is None or name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        found = self.const_subgraph_module()
        several = isinstance(found, tuple)
        kept = [self._kept(value) for value in (found if several else (found,))]
        setattr(self, name, ParameterList(kept) if several else kept[0])

    def _kept(self, value: Tensor) -> Parameter:
        grad = value.requires_grad
        return Parameter(value.detach().to(self.device_for_folded_attrs), requires_grad=grad)


def get_unique_attr_name_in_module(mod_traced: Module, name: str) -> str:
    """Return a name like ``name`` that no attribute of the module has."""
    clean = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    clean = f"_{clean}" if clean[:1].isdigit() else clean
    if not hasattr(mod_traced, clean):
        return clean
    return next(n for i in itertools.count(1) if not hasattr(mod_traced, n := f"{clean}_{i}"))


def split_const_subgraphs(
    module: Module,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
    is_impure_node: Callable[[Node], bool] | None = None,
) -> FoldedGraphModule:
    """Return the module, traced unless it is a GraphModule, with its constant part split off.

    ``skip_folding_node_fn`` says of which nodes results are not folded. ``is_impure_node`` says
    which nodes stay though nobody uses them (``Node.is_impure`` by default), where there is a
    constant part.
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant_nodes(traced, skip_folding_node_fn)
    used = [n for n in constant if n.op != "get_attr" and any(u not in constant for u in n.users)]
    if not used:
        return FoldedGraphModule(
            traced, _copy(traced.graph, {}), device_for_folded_attrs=device_for_folded_attrs
        )
    folding = Graph()
    inside: dict[Node, Node] = {}
    for node in constant:
        inside[node] = folding.node_copy(node, lambda n: inside[n])
    results = [inside[n] for n in used]
    folding.output(results[0] if len(results) == 1 else tuple(results))
    folding.eliminate_dead_code()
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    rest = _without(traced.graph, constant, used, name)
    rest.eliminate_dead_code(is_impure_node)
    holder = Module()
    vars(holder).update(vars(traced))
    vars(holder)["_parameters"] = dict(traced._parameters)
    # A place for what is not computed yet, so that the graph can be checked.
    setattr(holder, name, ParameterList() if len(used) > 1 else Parameter(Tensor()))
    return FoldedGraphModule(holder, rest, folding, name, device_for_folded_attrs)


def _constant_nodes(traced: GraphModule, skip: Callable[[Node], bool] | None) -> dict[Node, None]:
    found: dict[Node, None] = {}
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if any(n not in found for n in node.all_input_nodes):
            continue
        skipped = skip is not None and (skip(node) or _skips_within(traced, node, skip))
        if node.op != "get_attr" and (skipped or node.is_impure()):
            continue
        found[node] = None
    return found


def _skips_within(owner: Module, node: Node, skip: Callable[[Node], bool]) -> bool:
    """Return whether a node calls a child in whose graph a node is not to be folded."""
    if node.op != "call_module" or not follows("folding asks of nested nodes"):
        return False
    child = owner.get_submodule(str(node.target))
    return isinstance(child, GraphModule) and any(
        skip(inner) or _skips_within(child, inner, skip)
        for inner in child.graph.nodes
        if inner.op not in ("placeholder", "output")
    )


def _copy(graph: Graph, copies: dict[Node, Node]) -> Graph:
    made = Graph(tracer_cls=graph._tracer_cls)
    for node in graph.nodes:
        copies[node] = made.node_copy(node, lambda n: copies[n])
    made._codegen = graph._codegen
    return made


def _without(graph: Graph, constant: dict[Node, None], used: list[Node], name: str) -> Graph:
    """Return the graph with attributes in the place of its constant part."""
    made = Graph(tracer_cls=graph._tracer_cls)
    made._codegen = graph._codegen
    copies: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            copies[node] = made.node_copy(node)
    if len(used) == 1:
        copies[used[0]] = made.get_attr(name)
    else:
        whole = made.get_attr(name)
        for i, node in enumerate(used):
            copies[node] = made.call_function(operator.getitem, (whole, i))
    for node in used:
        copies[node].meta = dict(node.meta)
        copies[node].type = node.type
    for node in graph.nodes:
        if node in copies:
            continue
        kept = node.op == "get_attr" and any(u not in constant for u in node.users)
        if node not in constant or kept:
            copies[node] = made.node_copy(node, lambda n: copies[n])
    return made
