"""An exported program as a module that holds its state and is called as the exported one was."""

from __future__ import annotations

from typing import Any

from torchlike.export.graph_signature import InputKind, OutputKind
from torchlike.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Node
from torchlike.nn import Module, Parameter
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree

_WRITTEN = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)


def unlifted(program: Any, check_guards: bool) -> GraphModule:
    """Return the program's module: placeholders of state are attributes again, and new values of
    what it writes are copied there."""
    signature = program.graph_signature
    root = state_modules(program)
    for name, child in program.graph_module.named_children():
        root.add_module(name, child)
    graph = Graph()
    found: dict[Node, Any] = {}
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    by_name: dict[str, Node] = {}
    given: list[Node] = []
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if spec.kind is InputKind.USER_INPUT:
            copied = graph.placeholder(node.name)
            given.append(copied)
        else:
            name = node.name[2:] if node.name[:2] in ("p_", "b_", "c_") else node.name
            copied = graph.create_node("get_attr", spec.target, name=name)
            by_name[spec.target] = copied
        copied.meta = dict(node.meta)
        found[node] = copied
        by_name.setdefault(node.name, copied)
    if check_guards and program.guards is not None:
        root.add_module("_guards_fn", program.guards)
        graph.call_module("_guards_fn", tuple(given))
    for node in program.graph.nodes:
        if node.op not in ("placeholder", "output"):
            found[node] = graph.node_copy(node, lambda n: found[n])
    outputs = [
        found.get(a, a) if isinstance(a, Node) else a for a in program.graph.output_node().args[0]
    ]
    results = _write(graph, signature.output_specs, outputs, by_name)
    graph.output(tuple(results))
    entry = program.module_call_graph[0].signature
    names = list(entry.forward_arg_names)
    graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, entry.in_spec, entry.out_spec))
    made = GraphModule(root, graph, "GraphModule")
    made.register_forward_pre_hook(_CheckCall(entry.in_spec), with_kwargs=True)
    _without_modes(made)
    return made


def _write(graph: Graph, specs: Any, outputs: list[Any], by_name: dict[str, Node]) -> list[Any]:
    """Copy new values to where they belong, and return the results."""
    copied: dict[Any, Node] = {}
    for spec, value in zip(specs, outputs, strict=True):
        if spec.kind in _WRITTEN:
            written = graph.call_function(aten.copy_.default, (by_name[spec.target], value))
            if spec.kind is OutputKind.USER_INPUT_MUTATION:
                copied[value] = written
    results = [v for s, v in zip(specs, outputs, strict=True) if s.kind not in _WRITTEN]
    return [copied.get(v, v) if isinstance(v, Node) else v for v in results]


def state_modules(program: Any) -> Module:
    """Return nested modules that have a program's state under its names."""
    root = Module()
    signature = program.graph_signature
    persistent = set(signature.buffers) - set(signature.non_persistent_buffers)
    for name, value in program.state_dict.items():
        _register(root, name, value, name in persistent)
    for name, value in program.constants.items():
        _register(root, name, value, False)
    return root


def _register(root: Module, name: str, value: Tensor, persistent: bool) -> None:
    *path, last = name.split(".")
    owner: Any = root
    for part in path:
        if part not in owner._modules:
            owner.add_module(part, Module())
        owner = owner._modules[part]
    if isinstance(value, Parameter):
        owner.register_parameter(last, value)
    else:
        owner.register_buffer(last, value, persistent=persistent)


class _CheckCall:
    """A hook before each call: arguments have to be nested as they were. Keyword arguments may come
    in any order. ValueError in PyTorch's words."""

    def __init__(self, in_spec: Any) -> None:
        self.in_spec = in_spec

    def __call__(
        self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        wanted = list(self.in_spec.child(1).context)
        names = [n for n in module_argument_names(module) if n not in wanted]
        positional = [*args, *(kwargs[n] for n in names[len(args) :] if n in kwargs)]
        rest = {k: v for k, v in kwargs.items() if k not in names}
        if len(positional) > len(names):  # what was given by keyword when it was exported
            rest = {**dict(zip(wanted, positional[len(names) :], strict=False)), **rest}
            positional = positional[: len(names)]
        if set(rest) != set(wanted):
            raise ValueError(
                "Ran into a kwarg keyword mismatch: Got the following keywords "
                f"{list(rest)} but expected {wanted}"
            )
        call = tuple(positional), {k: rest[k] for k in wanted}
        given = pytree.tree_structure(call)
        if given != self.in_spec:
            raise ValueError(
                "Trying to flatten user inputs with exported input tree spec: \n"
                f"{self.in_spec}\nbut actually got inputs with tree spec of: \n{given}.\n"
                "Please check that the inputs have the same number and type of args and kwargs as "
                "the ones you used when tracing."
            )
        return call


def module_argument_names(module: Any) -> list[str]:
    """Return the names of the arguments that an unlifted module takes, in order."""
    return list(module.graph._codegen.pytree_info.orig_args)


def _without_modes(module: Any) -> None:
    """Have ``train`` and ``eval`` refused: the graph is of the mode that it was exported in."""

    def refused(name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError(f"Calling {name}() is not supported yet.")

        return call

    module.train, module.eval = refused("train"), refused("eval")
