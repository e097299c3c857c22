"""Where a graph that was traced above autograd records gradients, and where it has autocast.

A trace notes for each operator what was on (``PythonKeyTracer.switches``). Runs of operators where
something else is on than outside become graphs below, or stand between calls that switch it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import getitem as _getitem
from typing import Any, NamedTuple

from torchlike._core import dtypes, modes
from torchlike._ops.aten import custom
from torchlike.amp import autocast_mode
from torchlike.autograd import grad_mode
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node, map_arg


class Switches(NamedTuple):
    """What is on: whether gradients are recorded, and autocast's state (None for off)."""

    grad_enabled: bool
    autocast: Any

    @classmethod
    def present(cls, grad_enabled: bool | None = None) -> Switches:
        """Return the switches that are on in this thread."""
        recorded = modes.current.grad_enabled if grad_enabled is None else grad_enabled
        return cls(recorded, modes.current.autocast)


#: The fields of Switches with what a graph below them is called by.
_WRAPPED_BY = {"grad_enabled": "wrap_with_set_grad_enabled", "autocast": "wrap_with_autocast"}


def _runs(
    graph: Graph, noted: Mapping[Node, Switches], outside: Switches, field: str
) -> list[tuple[Any, list[Node]]]:
    """Return the runs of operators where a field differs from ``outside``, each with its value
    there. Parts of results belong to the run of the operator that gave them."""
    values: dict[Node, Any] = {}
    plain = getattr(outside, field)
    for node in graph.nodes:
        before = node.all_input_nodes[:1]
        found = noted.get(node)
        inherited = values[before[0]] if before else plain
        values[node] = inherited if found is None else getattr(found, field)
        if node.op != "call_function":
            values[node] = plain
    runs = [(value, list(nodes)) for value, nodes in groupby(graph.nodes, key=values.__getitem__)]
    return [(value, nodes) for value, nodes in runs if value != plain]


def _autocast_arguments(state: Any, outside: Any) -> tuple[Any, ...]:
    """Return the arguments of autocast that switch to a state: device, dtype, whether it is on, and
    whether casts are kept."""
    given = state or outside
    return given.device, dtypes.from_numpy_dtype(given.dtype), state is not None, False


def with_switches(graph: Graph, noted: Mapping[Node, Switches], outside: Switches) -> None:
    """Insert calls before and behind each run of operators where something else is on than
    ``outside``."""
    switch: Callable[..., Any] = grad_mode._set_grad_enabled
    for enabled, nodes in _runs(graph, noted, outside, "grad_enabled"):
        with graph.inserting_before(nodes[0]):
            graph.call_function(switch, (enabled,))
        with graph.inserting_after(nodes[-1]):
            graph.call_function(switch, (outside.grad_enabled,))
    for state, nodes in _runs(graph, noted, outside, "autocast"):
        with graph.inserting_before(nodes[0]):
            arguments = _autocast_arguments(state, outside.autocast)
            entered = graph.call_function(autocast_mode._enter_autocast, arguments)
        with graph.inserting_after(nodes[-1]):
            graph.call_function(autocast_mode._exit_autocast, (entered,))


def grouped(module: GraphModule, noted: dict[Node, Switches], outside: Switches) -> None:
    """Make a submodule of each run of operators where something else is on than ``outside``,
    called by ``torch.ops.higher_order.wrap_with_set_grad_enabled`` or ``wrap_with_autocast``."""
    count = 0
    for field in _WRAPPED_BY:
        for value, nodes in _runs(module.graph, noted, outside, field):
            count += 1
            arguments = (value,)
            if field == "autocast":
                arguments = _autocast_arguments(value, outside.autocast)
            inside = noted[next(n for n in nodes if n in noted)]
            made = _group(module, nodes, f"submod_{count}", _WRAPPED_BY[field], arguments)
            noted.update(dict.fromkeys(made, outside._replace(autocast=inside.autocast)))
    if count:
        module.recompile()


def _group(
    module: GraphModule, nodes: Sequence[Node], path: str, name: str, arguments: tuple[Any, ...]
) -> list[Node]:
    """Replace nodes by a call of a graph of them, and return the nodes of that call."""
    own = set(nodes)
    inputs = list(dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in own))
    results = [n for n in nodes if any(user not in own for user in n.users)]
    below = Graph()
    copies: dict[Node, Node] = {}
    for node in inputs:
        attribute = node.op == "get_attr"
        copies[node] = below.node_copy(node) if attribute else below.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    for node in nodes:
        copies[node] = below.node_copy(node, lambda n: copies[n])
    below.output(tuple(copies[n] for n in results))
    module.add_submodule(path, GraphModule(module, below, path))
    graph = module.graph
    operator = getattr(custom.find("higher_order"), name)
    given = [n for n in inputs if n.op != "get_attr"]
    with graph.inserting_before(nodes[0]):
        attribute_node = graph.get_attr(path)
        call = graph.call_function(operator, (*arguments, attribute_node, *given))
        call.meta["val"] = tuple(n.meta.get("val") for n in results)
        parts = [graph.call_function(_getitem, (call, i)) for i in range(len(results))]
    for node, part in zip(results, parts, strict=True):
        part.meta = dict(node.meta)
        for user in [u for u in node.users if u not in own and u is not part]:
            user.args = map_arg(user.args, lambda n, a=node, b=part: b if n is a else n)
            user.kwargs = map_arg(user.kwargs, lambda n, a=node, b=part: b if n is a else n)
    for node in reversed(nodes):
        graph.erase_node(node)
    for node in [n for n in inputs if n.op == "get_attr" and not n.users]:
        graph.erase_node(node)  # it is in the graph below
    return [attribute_node, call, *parts]
