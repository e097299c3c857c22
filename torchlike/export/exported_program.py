"""``torch.export.ExportedProgram``: a graph with the state that it was exported with."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchlike._runtime.lazy import LazyModule
from torchlike.export.graph_signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
)
from torchlike.export.guards import InputGuards
from torchlike.export.unlift import unlifted
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.nn import Parameter
from torchlike.tensor import Tensor

#: It makes ExportedPrograms.
_decompositions: Any = LazyModule("torchlike.export.decompositions")

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature"]


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module is called: its inputs and outputs, and how they are nested."""

    inputs: list[ArgumentSpec]
    outputs: list[ArgumentSpec]
    in_spec: Any
    out_spec: Any
    forward_arg_names: list[str] | None = None

    def replace_all_uses_with(self, original_node: Any, new_node: Any) -> None:
        """Rename a node in the signature to another's name."""
        for spec in (*self.inputs, *self.outputs):
            if spec.name == original_node.name:
                spec.name = new_node.name


@dataclasses.dataclass
class ModuleCallEntry:
    """A submodule, by its path. Only the whole program's signature is known."""

    fqn: str
    signature: ModuleCallSignature | None = None


class CallSpec(NamedTuple):
    """How arguments and results are nested."""

    in_spec: Any
    out_spec: Any


class ExportedProgram:
    """A graph of operators with the state that it was exported with.

    The graph's inputs are parameters, buffers, constants, and then the leaves of the caller's
    arguments, as ``graph_signature`` says; ``module()`` gives a module that is called as the
    exported one was. ``run_decompositions()`` gives a program without writes, in which operators
    that PyTorch makes of others are taken apart.

    Attributes: ``graph_signature``, ``state_dict``, ``constants`` (tensors that are no part of
    it), ``range_constraints`` (what sizes may be, by symbol), ``module_call_graph``,
    ``example_inputs`` (args, kwargs), ``guards``.

    Differs from PyTorch: symbols are called s0, s1, …; their ranges are keyed by name.
    """

    def __init__(
        self,
        root: Any,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        range_constraints: dict[str, Any],
        module_call_graph: list[ModuleCallEntry],
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
        constants: Mapping[str, Any] | None = None,
        *,
        guards: InputGuards | None = None,
        dialect: str = "TRAINING",
    ) -> None:
        self._graph_module = GraphModule(root, graph, "GraphModule")
        self.graph_signature = graph_signature
        self.state_dict = dict(state_dict)
        self.range_constraints = dict(range_constraints)
        self.module_call_graph = list(module_call_graph)
        self.example_inputs = example_inputs
        self.constants = dict(constants or {})
        self.guards = guards
        self.dialect = dialect

    @property
    def graph_module(self) -> GraphModule:
        """The graph with the graphs below it. It takes state, constants and leaves, in order."""
        return self._graph_module

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph_module.graph

    @property
    def tensor_constants(self) -> dict[str, Any]:
        """Tensors that are no part of the state_dict."""
        return self.constants

    @property
    def call_spec(self) -> CallSpec:
        """How arguments and results are nested."""
        signature = self.module_call_graph[0].signature
        assert signature is not None
        return CallSpec(signature.in_spec, signature.out_spec)

    def _value(self, name: str) -> Any:
        return self.state_dict[name] if name in self.state_dict else self.constants[name]

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with their names."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters."""
        for _, value in self.named_parameters():
            yield value

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with their names."""
        for name in self.graph_signature.buffers:
            yield name, self._value(name)

    def buffers(self) -> Iterator[Tensor]:
        """Yield the buffers."""
        for _, value in self.named_buffers():
            yield value

    def module(self, check_guards: bool = True) -> GraphModule:
        """Return a module that runs the program, with the state under its old names. The parameters
        are the program's own: what trains one trains the other.

        Args:
          check_guards: whether each call checks its arguments.
        """
        return unlifted(self, check_guards)

    def run_decompositions(
        self,
        decomp_table: Mapping[Any, Any] | None = None,
        decompose_custom_triton_ops: bool = False,
    ) -> ExportedProgram:
        """Return the program without writes: new values of what it writes are outputs. Operators
        that PyTorch composes of others are decomposed, and those of ``decomp_table`` as it says:
        by default those of ``default_decompositions()``.

        Differs from PyTorch: that table has fewer, so some operators are not of the core set; and
        operators that are composed are taken apart whatever the table says.
        """
        return _decompositions.decomposed(self, decomp_table)

    def validate(self) -> None:
        """Raise RuntimeError where graph and signature do not fit one another."""
        self.graph.lint()
        nodes = [n for n in self.graph.nodes if n.op == "placeholder"]
        names = [spec.arg.name for spec in self.graph_signature.input_specs]
        if [n.name for n in nodes] != names:
            raise RuntimeError(
                f"the graph's placeholders are {[n.name for n in nodes]}, but its signature says "
                f"{names}"
            )
        given = self.graph.output_node().args[0]
        specs = self.graph_signature.output_specs
        if len(given) != len(specs) or any(
            getattr(a, "name", None) != s.arg.name
            for a, s in zip(given, specs, strict=True)
            if not isinstance(s.arg, ConstantArgument)
        ):
            raise RuntimeError(
                f"the graph gives {given}, but its signature says {[s.arg.name for s in specs]}"
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` "
            "instead."
        )

    def __str__(self) -> str:
        source = self._graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        ranges = "{" + ", ".join(f"{k}: {v}" for k, v in self.range_constraints.items()) + "}"
        signature = str(self.graph_signature).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {source}\nGraph signature: {signature}\n"
            f"Range constraints: {ranges}\n"
        )

    def _update(
        self,
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature,
        *,
        state_dict: dict[str, Any] | None = None,
        constants: Mapping[str, Any] | None = None,
        dialect: str | None = None,
    ) -> ExportedProgram:
        """Return the program with another graph."""
        return ExportedProgram(
            graph_module,
            graph_module.graph,
            graph_signature,
            self.state_dict if state_dict is None else state_dict,
            self.range_constraints,
            self.module_call_graph,
            self.example_inputs,
            self.constants if constants is None else constants,
            guards=self.guards,
            dialect=dialect or self.dialect,
        )
