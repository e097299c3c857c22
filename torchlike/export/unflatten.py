"""``torch.export.unflatten``: an exported program as modules, nested as those it was made of."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from itertools import groupby
from operator import getitem as _item
from typing import Any

from torchlike.export.exported_program import ExportedProgram
from torchlike.export.graph_signature import InputKind
from torchlike.export.tracing import without_counts
from torchlike.export.unlift import state_modules
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.interpreter import Interpreter
from torchlike.fx.node import Node, map_arg
from torchlike.nn import Module
from torchlike.utils import _pytree as pytree

__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]


class FlatArgsAdapter(abc.ABC):
    """Takes arguments that are nested otherwise than the program's."""

    @abc.abstractmethod
    def adapt(
        self,
        target_spec: Any,
        input_spec: Any,
        input_args: list[Any],
        metadata: dict[str, Any] | None = None,
        obj: Any = None,
    ) -> list[Any]:
        """Return the leaves, given in the order of ``input_spec``, in that of ``target_spec``."""


class InterpreterModule(GraphModule):
    """A part of a program that a submodule's call was."""


class UnflattenedModule(Module):
    """A program's graph in modules of the names that its module had, each with its own state.

    A module that is called several times is there several times: ``a``, ``a@1``, with the same
    parameters. Calls take and give what the graph needs there, not what the module's ``forward``
    took. TypeError for arguments that are nested otherwise than the program's, unless an adapter
    takes them.
    """

    def __init__(
        self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None
    ) -> None:
        super().__init__()
        self.flat_args_adapter = flat_args_adapter
        self.graph_signature = export_module.graph_signature
        self.module_call_graph = list(export_module.module_call_graph)
        self._specs = export_module.call_spec
        whole = _ModuleParts(export_module).whole()
        self.graph = whole.graph
        for name, child in whole._modules.items():
            self.add_module(name, child)
        for name, parameter in whole._parameters.items():
            self.register_parameter(name, parameter)
        for name, buffer in whole._buffers.items():
            kept = name not in whole._non_persistent_buffers_set
            self.register_buffer(name, buffer, persistent=kept)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._specs.in_spec:
            if self.flat_args_adapter is None:
                raise TypeError(
                    "There is no flat args adapter specified. Are you sure you are calling this "
                    f"with the right arguments? {spec} is given, the program takes "
                    f"{self._specs.in_spec}"
                )
            leaves = self.flat_args_adapter.adapt(self._specs.in_spec, spec, leaves)
        found = Interpreter(self, graph=self.graph).run(*leaves)
        return pytree.tree_unflatten(list(found), self._specs.out_spec)


def unflatten(
    module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None
) -> UnflattenedModule:
    """Turn a program into nested modules, as ``UnflattenedModule`` says. Raises ValueError for a
    program after ``run_decompositions``: export the module again."""
    if any(s.kind.name.endswith("MUTATION") for s in module.graph_signature.output_specs):
        raise ValueError(
            "unflatten takes programs as torch.export.export gives them: after "
            "run_decompositions() new values of state are outputs of the whole graph"
        )
    return UnflattenedModule(module, flat_args_adapter)


class _ModuleParts:
    """Takes a program apart by the modules whose calls its nodes come from."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self.state = state_modules(program)
        nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
        pairs = list(zip(nodes, program.graph_signature.input_specs, strict=True))
        #: Placeholders of state, by the state's name.
        self.names = {n: s.target or "" for n, s in pairs if s.kind is not InputKind.USER_INPUT}
        self.given = [n for n, s in pairs if s.kind is InputKind.USER_INPUT]
        self.calls: dict[Node, list[str]] = {}
        for node in program.graph.nodes:
            if node.op not in ("placeholder", "output"):
                self.calls[node] = self._calls(node)

    def _calls(self, node: Node) -> list[str]:
        """Return the calls that a node belongs to, outermost first; parts of results belong to the
        calls of the results."""
        stack = node.meta.get("nn_module_stack")
        if stack is not None:
            return [path for path, _ in stack.values() if path]
        before = next((n for n in node.all_input_nodes if n in self.calls), None)
        user = next(iter(node.users), None)
        if before is None and node.op == "get_attr" and user is not None:
            return self._calls(user)
        return self.calls[before] if before is not None else []

    def whole(self) -> GraphModule:
        """Return the outermost part."""
        nodes = list(self.calls)
        results = self.program.graph.output_node().args[0]
        return self._part("", nodes, self.given, results)

    def _part(
        self, within: str, nodes: Sequence[Node], given: Sequence[Node], results: Any
    ) -> GraphModule:
        """Build a module of the nodes within a call, called with the values of ``given``."""
        graph = Graph()
        made: dict[Node, Node] = {}
        for node in given:
            made[node] = graph.placeholder(node.name)
            made[node].meta = dict(node.meta)
        path = without_counts(within)
        holder = self._holder(path)
        prefix = f"{path}." if path else ""

        def value(node: Node) -> Node:
            if node not in made:
                made[node] = graph.get_attr(self.names[node].removeprefix(prefix))
            return made[node]

        def call_of(node: Node) -> str | None:
            calls = self.calls[node]
            at = calls.index(within) + 1 if within else 0
            return calls[at] if len(calls) > at else None

        for call, run in groupby(nodes, key=call_of):
            inside = list(run)
            if call is None:
                for node in inside:
                    if node.op == "get_attr":
                        setattr(
                            holder, node.target, getattr(self.program.graph_module, node.target)
                        )
                    made[node] = graph.node_copy(node, value)
                continue
            self._call(call, within, inside, holder, graph, made, value)
        graph.output(map_arg(results, value))
        return self._closed(holder, graph)

    def _call(
        self,
        call: str,
        within: str,
        nodes: list[Node],
        holder: Module,
        graph: Graph,
        made: dict[Node, Node],
        value: Any,
    ) -> None:
        """Add the call of a part below to the graph."""
        path = without_counts(call)
        own = set(nodes)
        read = dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in own)
        given = [n for n in read if not self.names.get(n, "").startswith(f"{path}.")]
        results = [n for n in nodes if any(user not in own for user in n.users)]
        single = len(results) == 1
        below = self._part(call, nodes, given, results[0] if single else results)
        name = call[len(within) + 1 :] if within and call.startswith(f"{within}.") else call
        while _has(holder, name) and isinstance(holder.get_submodule(name), InterpreterModule):
            name += "@1"  # a call whose nodes do not follow one another
        _place(holder, name.split("."), below)
        node = graph.call_module(name, tuple(map(value, given)))
        if single:
            node.meta = dict(results[0].meta)
            made[results[0]] = node
            return
        for i, result in enumerate(results):
            made[result] = graph.call_function(_item, (node, i))
            made[result].meta = dict(result.meta)

    def _holder(self, path: str) -> Module:
        """Return a new module with the state of the one at a path, that of submodules included."""
        source = self.state.get_submodule(path) if _has(self.state, path) else Module()
        return _of_the_same(source)

    def _closed(self, holder: Module, graph: Graph) -> GraphModule:
        """Return the part with all of its state, also what its graph does not name."""
        made = InterpreterModule(holder, graph, "InterpreterModule")
        for table in ("_parameters", "_buffers", "_modules"):
            for name, held in getattr(holder, table).items():
                getattr(made, table).setdefault(name, held)
        made._non_persistent_buffers_set |= holder._non_persistent_buffers_set
        return made


def _of_the_same(source: Module) -> Module:
    """Return a module with the parameters, buffers and modules of another."""
    made = Module()
    for table in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
        getattr(made, table).update(getattr(source, table))
    return made


def _place(holder: Module, path: Sequence[str], module: Module) -> None:
    """Put a module at a path; the modules on the way are copied, or made."""
    *way, last = path
    for part in way:
        found = holder._modules.get(part)
        holder._modules[part] = _of_the_same(found) if found is not None else Module()
        holder = holder._modules[part]  # type: ignore[assignment]
    holder._modules[last] = module


def _has(module: Module, path: str) -> bool:
    try:
        module.get_submodule(path)
    except AttributeError:
        return False
    return True
