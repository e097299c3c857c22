"""``ExportedProgram.run_decompositions``: the graph without writes, its operators taken apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from torchlike._compat.symbolic import expression_of, is_symbolic
from torchlike._decomp import core_aten_decompositions
from torchlike._ops.aten.custom import HigherOrderOperator
from torchlike._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torchlike.autograd.grad_mode import set_grad_enabled
from torchlike.export.exported_program import ExportedProgram
from torchlike.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torchlike.fx.experimental.functional_graphs import FunctionalMode
from torchlike.fx.experimental.proxy_tensor import PythonKeyTracer, disable_proxy_modes_tracing
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node, map_arg
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree

_WRITTEN = {
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}


class CustomDecompTable(dict[Any, Callable[..., Any]]):
    """What operators are taken apart into, by the operator."""

    def copy(self) -> CustomDecompTable:
        """Return a table with the same entries."""
        return CustomDecompTable(self)

    def materialize(self) -> dict[Any, Callable[..., Any]]:
        """Return the entries as a plain dictionary."""
        return dict(self)


def default_decompositions() -> CustomDecompTable:
    """Return the decompositions of ``torch._decomp.core_aten_decompositions``, to be changed and
    passed to ``run_decompositions``."""
    return CustomDecompTable(core_aten_decompositions())


def decomposed(program: ExportedProgram, table: Mapping[Any, Any] | None) -> ExportedProgram:
    """Trace a program's graph once more, below autograd. Graphs below it (branches of ``cond``,
    regions without gradients) stay as they are."""
    tracer = PythonKeyTracer()
    tracer.begin()
    for name, child in program.graph_module.named_children():
        tracer.root.add_module(name, child)
    fake = _fake_mode(program)
    table = default_decompositions() if table is None else table
    mode = FunctionalMode(tracer, "symbolic", dict(table))
    inputs, env = _placeholders(program, tracer, fake)
    with set_grad_enabled(False), fake, mode:
        for node in program.graph.nodes:
            if node.op not in ("placeholder", "output"):
                env[node] = _run(node, mode, env)
        given = program.graph.output_node().args[0]
        results = [env[a] if isinstance(a, Node) else a for a in given]
        outputs = _written_outputs(program, mode, inputs)
        for spec, value in zip(program.graph_signature.output_specs, results, strict=True):
            node = tracer.create_arg(mode.standing_for(value))
            arg = dataclasses.replace(spec.arg)
            if not isinstance(arg, ConstantArgument):
                arg.name = node.name
            outputs.append((node, OutputSpec(spec.kind, arg, spec.target)))
    tracer.graph.output(tuple(node for node, _ in outputs))
    tracer.graph.eliminate_dead_code(
        lambda n: n.op in ("placeholder", "output") or n.target is aten._assert_scalar.default
    )
    module = GraphModule(tracer.root, tracer.graph, "GraphModule")
    signature = ExportGraphSignature(
        [
            dataclasses.replace(s, arg=dataclasses.replace(s.arg))
            for s in program.graph_signature.input_specs
        ],
        [spec for _, spec in outputs],
    )
    return program._update(module, signature, dialect="ATEN")


def _fake_mode(program: ExportedProgram) -> FakeTensorMode:
    """Return the mode of the graph's fake tensors, or a new one where it has none."""
    for node in program.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, FakeTensor):
                return value.fake_mode
    return FakeTensorMode(allow_non_fake_inputs=True)


def _placeholders(
    program: ExportedProgram, tracer: PythonKeyTracer, fake: FakeTensorMode
) -> tuple[list[Any], dict[Node, Any]]:
    """Create the inputs of the new graph, and return the value that stands for each: in order, and
    by the old nodes."""
    values: list[Any] = []
    env: dict[Node, Any] = {}
    nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
    for node, spec in zip(nodes, program.graph_signature.input_specs, strict=True):
        proxy = tracer.create_proxy("placeholder", node.name, (), {})
        proxy.node.name = proxy.node.target = node.name
        value = node.meta.get("val")
        if spec.kind is InputKind.CONSTANT_TENSOR:
            value = program.constants[spec.target or ""]
        if isinstance(value, Tensor):
            value = _fresh(value, fake)
            tracer.track(value, proxy)
        elif is_symbolic(value):
            proxy.node.meta["val"] = value
            tracer.numbers.setdefault(expression_of(value), proxy)
        proxy.node.meta.update({k: v for k, v in node.meta.items() if k not in proxy.node.meta})
        values.append(value)
        env[node] = value
    return values, env


def _fresh(value: Tensor, fake: FakeTensorMode) -> Any:
    """Return a fake tensor like another, with memory of its own."""
    return fake._copied(value) if isinstance(value, FakeTensor) else fake._faked(value, None)


def _run(node: Node, mode: FunctionalMode, env: dict[Node, Any]) -> Any:
    """Run a node and return its result; the operators it calls become nodes of the new graph."""
    if node.op == "get_attr":
        return node  # a graph below: copied where it is used
    args, kwargs = map_arg((node.args, dict(node.kwargs)), lambda n: env[n])
    if not isinstance(node.target, HigherOrderOperator):
        return node.target(*args, **kwargs)
    tracer = mode.tracer
    attributes = {
        n: tracer.create_proxy("get_attr", n.target, (), {})
        for n in node.all_input_nodes
        if n.op == "get_attr"
    }

    def standing(a: Any) -> Any:
        return attributes[a] if isinstance(a, Node) else mode.standing_for(a)

    given = pytree.tree_map(standing, args)
    proxy = tracer.create_proxy("call_function", node.target, given, {}, name=node.name)
    with disable_proxy_modes_tracing():
        results = tuple(
            _fresh(v, v.fake_mode) if isinstance(v, FakeTensor) else v for v in node.meta["val"]
        )
    for i, value in enumerate(results):
        if isinstance(value, Tensor):
            tracer.track(value, proxy[i])
    proxy.node.meta["val"] = results
    return results


def _written_outputs(
    program: ExportedProgram, mode: FunctionalMode, inputs: list[Any]
) -> list[tuple[Any, OutputSpec]]:
    """Return the new values of state and arguments that the program writes: state first, then
    arguments."""
    found = []
    specs = program.graph_signature.input_specs
    order = sorted(range(len(specs)), key=lambda i: specs[i].kind is InputKind.USER_INPUT)
    for i in order:
        spec, value = specs[i], inputs[i]
        if not isinstance(value, Tensor) or not mode.written(value):
            continue
        node = mode.tracer.create_arg(mode.standing_for(value))
        kind = _WRITTEN.get(spec.kind, OutputKind.BUFFER_MUTATION)
        target = spec.target or spec.arg.name
        found.append((node, OutputSpec(kind, TensorArgument(node.name), target)))
    return found
