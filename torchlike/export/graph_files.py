"""An exported graph as plain data, for a file: nodes, what they give, what inputs and outputs are.

Operators are named, and `targets` says what a name leads to, so a file runs no code of its own.
"""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

from torchlike._compat import symbolic
from torchlike._compat.symbolic import SymInt, SymNode, is_symbolic, symbolic_sizes
from torchlike._core import devices
from torchlike._ops.creation.filled import empty
from torchlike._subclasses.fake_tensor import FakeTensorMode
from torchlike.export import graph_signature as signatures
from torchlike.export import targets
from torchlike.export.exported_program import (
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
)
from torchlike.export.graph_signature import ExportGraphSignature, InputSpec, OutputSpec
from torchlike.export.guards import InputGuards, plain
from torchlike.export.sizes import ValueRange
from torchlike.fx.experimental.symbolic_shapes import ShapeEnv
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node
from torchlike.fx.passes.shape_prop import _extract_tensor_metadata
from torchlike.nn import Module
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree

_KEPT = ("stack_trace", "nn_module_stack", "torch_fn")
_PLAIN = (bool, int, float, str, type(None))


# -- writing ---------------------------------------------------------------------------------------


def opened(program: ExportedProgram) -> dict[str, Any]:
    """Return a program but for its tensors as plain data. Raises NotImplementedError for what a
    file cannot hold."""
    entry = program.module_call_graph[0].signature
    assert entry is not None
    guards = program.guards
    return {
        "graph": _graph(program.graph_module),
        "inputs": [_spec(s) for s in program.graph_signature.input_specs],
        "outputs": [_spec(s) for s in program.graph_signature.output_specs],
        "ranges": {n: list(r) for n, r in program.range_constraints.items()},
        "modules": [e.fqn for e in program.module_call_graph],
        "arguments": entry.forward_arg_names,
        "in_spec": pytree.treespec_dumps(entry.in_spec),
        "out_spec": pytree.treespec_dumps(entry.out_spec),
        "guards": None if guards is None else _guards(guards),
        "dialect": program.dialect,
    }


def _guards(guards: InputGuards) -> list[Any]:
    leaves = [
        (name, {"is": _argument(wanted["is"])} if isinstance(wanted, dict) else wanted)
        for name, wanted in guards.leaves
    ]
    return [leaves, guards.ranges, guards.relations, guards.assumed]


def _graph(module: GraphModule) -> dict[str, Any]:
    below = {n: _graph(m) for n, m in module.named_children() if isinstance(m, GraphModule)}
    return {"nodes": [_node(n) for n in module.graph.nodes], "below": below}


def _node(node: Node) -> dict[str, Any]:
    target = node.target if node.op != "call_function" else targets.written(node.target)
    meta = {k: node.meta[k] for k in _KEPT if node.meta.get(k) is not None}
    if "val" in node.meta:
        meta["val"] = _value(node.meta["val"])
    return {
        "op": node.op,
        "name": node.name,
        "target": target,
        "args": _argument(node.args),
        "kwargs": _argument(dict(node.kwargs)),
        "meta": meta,
    }


def _argument(a: Any) -> Any:
    if isinstance(a, Node):
        return {"node": a.name}
    if isinstance(a, (list, tuple)):
        kind = "list" if isinstance(a, list) else "tuple"
        return {kind: [_argument(x) for x in a]}
    if isinstance(a, dict):
        return {"dict": {k: _argument(v) for k, v in a.items()}}
    if isinstance(a, slice):
        return {"slice": [_argument(x) for x in (a.start, a.stop, a.step)]}
    for name, (cls, write, _) in targets.NAMED.items():
        if isinstance(a, cls):
            return {name: write(a)}
    if isinstance(a, _PLAIN):
        return a
    raise NotImplementedError(f"an argument {a!r} ({type(a).__name__}) of a node in a file")


def _value(value: Any) -> Any:
    """Describe a node's result as plain data: a tensor's shape and kind, a number, or several."""
    if isinstance(value, Tensor):
        return {
            "tensor": [plain(n) for n in value.shape],
            "dtype": _argument(value.dtype),
            "device": str(value.device),
            "requires_grad": value.requires_grad,
        }
    if is_symbolic(value):
        return {"number": str(value.node.expr)} if isinstance(value, SymInt) else None
    if isinstance(value, (list, tuple)):
        return {"tuple": [_value(v) for v in value]}
    return {"plain": value} if isinstance(value, _PLAIN) else None


def _spec(spec: InputSpec | OutputSpec) -> dict[str, Any]:
    arg = spec.arg
    found = {
        "kind": spec.kind.name,
        "arg": [type(arg).__name__, dataclasses.asdict(arg)],
        "target": spec.target,
    }
    if isinstance(spec, InputSpec):
        found["persistent"] = spec.persistent
    return found


# -- reading ---------------------------------------------------------------------------------------


class _GraphReader:
    """Makes graphs of plain data. RuntimeError for an operator that is not known here."""

    def __init__(self, ranges: dict[str, ValueRange]) -> None:
        env: Any = ShapeEnv()
        self.symbols = symbolic_sizes.symbols(list(ranges)) if ranges else {}
        env.hints.update({n: max(r.lower or 0, symbolic_sizes.LEAST) for n, r in ranges.items()})
        self.env = env
        self.fake = FakeTensorMode(shape_env=env, static_shapes=True)

    def graph_module(self, data: dict[str, Any]) -> GraphModule:
        root = Module()
        for name, below in data["below"].items():
            root.add_module(targets.identifier(name), self.graph_module(below))
        graph = Graph()
        nodes: dict[str, Node] = {}
        for given in data["nodes"]:
            name = targets.identifier(given["name"])
            if name in nodes:
                raise RuntimeError(f"a graph of a file has two nodes named {name}")
            kwargs = {
                targets.identifier(k): self._argument(v, nodes)
                for k, v in given["kwargs"]["dict"].items()
            }
            args = self._argument(given["args"], nodes)
            node = graph.create_node(
                given["op"], self._target(given, args, data["below"]), args, kwargs, name
            )
            node.name = name  # as it was, of a builtin too ("input")
            nodes[name] = node
            node.meta.update({k: given["meta"][k] for k in _KEPT if k in given["meta"]})
            if given["meta"].get("val") is not None:
                node.meta["val"] = value = self._value(given["meta"]["val"])
                if isinstance(value, Tensor) and getattr(value, "symbolic_size", None) is None:
                    node.meta["tensor_meta"] = _extract_tensor_metadata(value)
        return GraphModule(root, graph, "GraphModule")

    def _target(self, given: dict[str, Any], args: Any, below: Any) -> Any:
        """Return the function, method or path that a node calls or reads. Raises RuntimeError for
        what a file may not name."""
        op, target = given["op"], given["target"]
        if not isinstance(args, tuple):
            raise RuntimeError(f"node {given['name']} of a file has {args!r} for arguments")
        if op == "call_function":
            return targets.read(target)
        if op == "call_method" and args and isinstance(args[0], Node):
            return targets.method(target)
        if op in ("get_attr", "call_module"):
            return targets.one_of(target, below, "part")
        if op == "placeholder" or (op == "output" and len(args) == 1):
            return targets.identifier(target)
        raise RuntimeError(f"node {given['name']} of a file does {op!r} with {args!r}")

    def guards(self, leaves: Any, ranges: Any, relations: Any, assumed: Any = ()) -> InputGuards:
        found = [
            (name, {"is": self._argument(wanted["is"], {})} if isinstance(wanted, dict) else wanted)
            for name, wanted in leaves
        ]
        return InputGuards(found, ranges, relations, assumed)

    def _argument(self, a: Any, nodes: dict[str, Node]) -> Any:
        if isinstance(a, _PLAIN):
            return a
        ((kind, value),) = a.items()
        if kind == "node":
            return nodes[value]
        if kind in ("list", "tuple", "slice"):
            made = [self._argument(x, nodes) for x in value]
            return {"list": list, "tuple": tuple, "slice": lambda m: slice(*m)}[kind](made)
        if kind == "dict":
            return {k: self._argument(v, nodes) for k, v in value.items()}
        return targets.NAMED[kind][2](value)

    def _number(self, text: Any) -> Any:
        if not isinstance(text, str):
            return text
        expr = symbolic_sizes.parsed(text, self.symbols)
        return SymInt(SymNode(expr, self.env, symbolic_sizes.value(expr, self.env.hints)))

    def _value(self, data: Any) -> Any:
        if data is None:
            return None
        if "number" in data:
            return self._number(data["number"])
        if "tuple" in data:
            return tuple(self._value(v) for v in data["tuple"])
        if "plain" in data:
            return self._argument(data["plain"], {})
        shape = tuple(self._number(n) for n in data["tensor"])
        hints = [symbolic.hint_of(n) for n in shape]
        like = empty(hints, dtype=self._argument(data["dtype"], {}), device="meta")
        made = self.fake._faked(like, None)
        made.fake_device = devices.device(data["device"])
        if any(map(is_symbolic, shape)):
            made.symbolic_size = shape
        return made.requires_grad_() if data["requires_grad"] else made


def closed(
    data: dict[str, Any],
    state: dict[str, Any],
    constants: dict[str, Tensor],
    example: list[Any] | None,
) -> ExportedProgram:
    """Rebuild the program from its plain data. ``example`` are the leaves of its example inputs."""
    ranges = {targets.identifier(n): ValueRange(*r) for n, r in data["ranges"].items()}
    reader = _GraphReader(ranges)
    module = reader.graph_module(data["graph"])
    signature = ExportGraphSignature(
        [_closed_spec(InputSpec, signatures.InputKind, s) for s in data["inputs"]],
        [_closed_spec(OutputSpec, signatures.OutputKind, s) for s in data["outputs"]],
    )
    specs = pytree.treespec_loads(data["in_spec"]), pytree.treespec_loads(data["out_spec"])
    names = [targets.identifier(name) for name in data["arguments"]]
    whole = ModuleCallSignature([], [], *specs, names)
    for spec in signature.input_specs:
        if spec.kind is not signatures.InputKind.USER_INPUT:
            targets.one_of(spec.target, {*state, *constants}, "state")
    entries = [ModuleCallEntry("", whole), *map(ModuleCallEntry, data["modules"][1:])]
    given = None if example is None else pytree.tree_unflatten(example, specs[0])
    guards = None if data["guards"] is None else reader.guards(*data["guards"])
    return ExportedProgram(
        module,
        module.graph,
        signature,
        state,
        ranges,
        entries,
        given,
        constants,
        guards=guards,
        dialect=data["dialect"],
    )


#: What inputs and outputs are, by the names of the classes.
_ARGUMENTS = {kind.__name__: kind for kind in get_args(signatures.ArgumentSpec)}


def _closed_spec(cls: Any, kinds: Any, data: dict[str, Any]) -> Any:
    name, fields = data["arg"]
    if fields["name"] or name != "ConstantArgument":
        targets.identifier(fields["name"])
    rest = {"persistent": data["persistent"]} if "persistent" in data else {}
    return cls(kinds[data["kind"]], _ARGUMENTS[name](**fields), data["target"], **rest)
