"""Runs a graph node by node; subclasses change what a node does."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torchlike.fx import traceback as fx_traceback
from torchlike.fx._symbolic_trace import Tracer
from torchlike.fx.graph import Graph
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Argument, Node, map_aggregate, map_arg
from torchlike.fx.proxy import Proxy
from torchlike.nn.modules.module import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a module's graph: ``run(*args)`` calls ``run_node`` for each node, and that the method
    named like its operation."""

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = graph if graph is not None else module.graph  # type: ignore[assignment]
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            used: set[Node] = set()
            for node in reversed(self.graph.nodes):
                for n in node.all_input_nodes:
                    if n not in used:
                        used.add(n)
                        self.user_to_last_uses.setdefault(node, []).append(n)

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Argument:
        """Run the graph on arguments and return the result. ``initial_env`` has values of nodes
        that are not run again."""
        self.env = initial_env if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    says = f"While executing {node.format_node()}"
                    if node.stack_trace:
                        says += f"\nOriginal traceback:\n{node.stack_trace}"
                    first = f"{error.args[0]}\n\n{says}" if error.args else says
                    error.args = (first, *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
            if self.garbage_collect_values:
                for n in self.user_to_last_uses.get(node, ()):
                    del self.env[n]
        return None

    def boxed_run(self, args_list: list[Any]) -> Argument:
        """Run the graph on a list of arguments, which is emptied so that they can be freed."""
        inputs = list(args_list)
        args_list.clear()
        return self.run(*inputs)

    @contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with fx_traceback.set_current_meta(node):
            yield

    def run_node(self, n: Node) -> Argument:
        """Run a node and return its value."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Return the next argument, or the default. Raises RuntimeError where there is neither."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Return the attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Call the function and return its result."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Call a method of the first argument and return its result."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Call the submodule and return its result."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Return the result of the run."""
        return args[0]

    def fetch_attr(self, target: str) -> Argument:
        """Return the attribute at a path. Raises RuntimeError where there is none."""
        here: Any = self.module
        parts = target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(here, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            here = getattr(here, part)
        return here

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the values of a node's arguments."""
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        return args, kwargs

    def map_nodes_to_values(self, args: Any, n: Node) -> Argument:
        """Return arguments with the nodes in them replaced by their values. Raises RuntimeError for
        a node that has none yet."""

        def value(arg: Node) -> Argument:
            if arg not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {arg}! Run Graph.lint() to diagnose "
                    "such issues"
                )
            return self.env[arg]

        return map_arg(args, value)


class Transformer(Interpreter):
    """An Interpreter on proxies, so that its run makes a new graph: ``transform()``."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}

            def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module
        self.tracer._qualname_counter = {}

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Proxy:
        """Create a placeholder of the new graph."""
        default = next(iter(args)) if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Read an attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Call the submodule in the new graph."""
        return self.tracer.call_module(
            self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs
        )

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Call the function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Run the graph, recording the new one, and return the new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            strip = lambda a: a.node if isinstance(a, Proxy) else a  # noqa: E731
            old = self.graph.output_node()
            made = self.new_graph.output(map_aggregate(result, strip), type_expr=old.type)
            made.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)
