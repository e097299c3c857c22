"""A program as a list of nodes, and the Python source that runs it."""

from __future__ import annotations

import contextlib
import copy as copying
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from torchlike.fx import _names
from torchlike.fx._codegen import (
    CodeGen,
    PythonCode,
    _custom_builtins,
    _CustomBuiltin,
    _Namespace,
    _PyTreeCodeGen,
    _PyTreeInfo,
    inplace_methods,
    magic_methods,
    reflectable_magic_methods,
)
from torchlike.fx.node import Argument, Node, _get_qualified_name, map_arg
from torchlike.nn.modules.module import Module

__all__ = [
    "CodeGen",
    "Graph",
    "PythonCode",
    "_CustomBuiltin",
    "_Namespace",
    "_PyTreeCodeGen",
    "_PyTreeInfo",
    "_custom_builtins",
    "_get_qualified_name",
    "inplace_methods",
    "magic_methods",
    "reflectable_magic_methods",
]


class _InsertPoint:
    """``with graph.inserting_before(n):`` the old place comes back at the end."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.graph._insert = self.orig_insert


class _node_list:
    """The nodes in order, while some are added or erased."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> Iterator[Node]:
        return iter(_node_list(self.graph, "_prev" if self.direction == "_next" else "_next"))


class Graph:
    """The nodes of a program, in the order in which they run.

    Made by a Tracer, or node by node with ``placeholder``, ``call_function`` and kin; ``lint``
    checks it.
    """

    def __init__(
        self, owning_module: Any = None, tracer_cls: type | None = None, tracer_extras: Any = None
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._order: dict[Node, int] | None = None
        self._used_names: dict[str, int] = {}
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    @property
    def owning_module(self) -> Argument:
        """The GraphModule that runs it, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _node_list:
        """The nodes in order; also ``reversed(graph.nodes)``."""
        return _node_list(self)

    def output_node(self) -> Node:
        """Return the output node."""
        node = next(iter(reversed(self.nodes)))
        if node.op != "output":
            raise AssertionError(f"expected an output node, got {node.op}")
        return node

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """Return the nodes of an operation, with a target where one is given."""
        if op == "call_function" and target is None:
            raise AssertionError("target must be set if op is call_function")
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # -- adding ------------------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Any,
        args: Any = None,
        kwargs: Any = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Insert a new node at the insert point (the end, unless another was set) and return it."""
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        candidate = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(candidate, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        hooks = getattr(self.owning_module, "_create_node_hooks", ())
        for hook in hooks or ():
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Any) -> str:
        op = target if isinstance(target, str) else _names.short_name(target)
        if op.startswith("__") and op.endswith("__") and len(op) > 4:
            op = op[2:-2]
        return _names.snake_case(op)

    def placeholder(
        self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty
    ) -> Node:
        """Insert a node for a parameter of the function."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Insert a node for a parameter, buffer or other attribute of the module. Warns where it
        has none."""
        if self.owning_module is not None and not _has(self.owning_module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule, "
                "GraphModule.add_parameter to add the necessary Parameter, or "
                "nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """Insert a node that calls a submodule. Raises AttributeError where the module has none."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """Insert a node that calls a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Insert a node that calls a function."""
        return self.create_node(
            "call_function", the_function, args, kwargs, name=name, type_expr=type_expr
        )

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Insert the node of what the function returns."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Insert a copy of another graph's node; ``arg_transform`` gives this graph's arguments."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copying.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Argument:
        """Copy all nodes of another graph, recorded in ``val_map``, and return what that graph
        returns."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Return a context manager in which new nodes come before ``n`` (at the beginning, if there
        is none)."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Return a context manager in which new nodes come after ``n`` (at the end, if there is
        none)."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    # -- removing ----------------------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nothing uses. Raises RuntimeError where something does."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()) or ():
            hook(to_erase)
        to_erase._unlink()
        to_erase._erased = True
        self._order = None
        self._len -= 1
        to_erase._set((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove nodes that nothing uses and that have no other effect, and return whether there
        were any."""
        self.lint()
        changed = False
        impure = is_impure_node or (lambda n: n.is_impure())
        for node in reversed(self.nodes):
            if not node.users and node.op not in ("placeholder", "output") and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    # -- what it says ------------------------------------------------------------------------------

    def lint(self) -> None:
        """Check the graph: order, names, targets. Raises RuntimeError (ValueError for a target that
        the module lacks) for what is wrong."""
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this graph!")
            for arg in node.all_input_nodes:
                if arg.graph is not self:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was "
                        "used as an argument! If you are copying nodes from another graph, make "
                        f"sure to use ``arg_transform`` on node_copy() to remap values\n{self}"
                    )
                if arg not in seen:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' was used before it has been defined! "
                        f"Please check that Nodes in the graph are topologically ordered\n{self}"
                    )
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is not None:
            self._lint_targets()

    def _lint_targets(self) -> None:
        for node in self.nodes:
            if node.op not in ("get_attr", "call_module"):
                continue
            here = self.owning_module
            for part in node.target.split("."):
                if not hasattr(here, part):
                    raise RuntimeError(
                        f"Node {node} target {node.target} references nonexistent attribute "
                        f"{part} of {_short(here)}"
                    )
                here = getattr(here, part)
            if node.op == "call_module" and not isinstance(here, Module):
                raise RuntimeError(
                    f"Node {node} target {node.target} {node.target} of {_short(here)} does not "
                    "reference an nn.Module"
                )

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(_table(rows, ["opcode", "name", "target", "args", "kwargs"]))  # noqa: T201

    def set_codegen(self, codegen: CodeGen) -> None:
        """Set the code generator that writes the source."""
        self._codegen = codegen

    def python_code(self, root_module: str, **kwargs: Any) -> PythonCode:
        """Generate the source of a function that does what the nodes say; ``root_module`` is the
        module's name there ("self")."""
        namespace = _Namespace()
        before = [(node, node._repr_fn) for node in self.nodes]
        for node, _ in before:
            node._repr_fn = lambda n: namespace.create_name(n.name, n)
        try:
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, **kwargs)
        finally:
            for node, shown in before:
                node._repr_fn = shown

    def on_generate_code(
        self, make_transformer: Callable[[Any], Any]
    ) -> AbstractContextManager[None]:
        """Register a function that changes the lines of the source before it is compiled: its maker
        is given the present one, or None. The result is a context manager that takes it back."""
        previous = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(previous)

        @contextlib.contextmanager
        def context() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = previous

        return context()

    def process_inputs(self, *args: Any) -> Argument:
        """Return the values of the placeholders for a call's arguments."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Argument:
        """Return a call's result for the value of the output node."""
        return self._codegen.process_outputs(out)

    def __str__(self) -> str:
        lines = [n.format_node() for n in self.nodes]
        return "graph():" + "".join(f"\n    {line}" for line in lines if line)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = memo if memo is not None else {}
        made = Graph(tracer_cls=self._tracer_cls)
        copies: dict[Node, Node] = {}
        returned = made.graph_copy(self, copies, return_output_node=True)
        made._codegen = copying.copy(self._codegen)
        made._co_fields = dict(self._co_fields)
        if returned is not None:
            result, old = returned
            node = made.output(result, type_expr=getattr(old, "type", None))
            node.name = old.name if old.name not in {n.name for n in copies.values()} else node.name
            node.meta = copying.copy(old.meta)
            copies[old] = node
        memo[id(self)] = made
        memo.update({id(old): new for old, new in copies.items()})
        return made

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))


def _has(module: Any, path: str) -> bool:
    """Return whether a module has a parameter, buffer or submodule at a path."""
    where, _, name = path.rpartition(".")
    try:
        holder = module.get_submodule(where)
    except AttributeError:
        warnings.warn(f"Failed to fetch module {where}!", stacklevel=3)
        return False
    return any(name in table for table in (holder._parameters, holder._buffers, holder._modules))


def _short(module: Any) -> str:
    return type(module).__name__


def _table(rows: list[list[Any]], headers: list[str]) -> str:
    """Arrange columns under headings, as the package ``tabulate`` does."""
    text = [[str(cell) for cell in row] for row in rows]
    widths = [
        max(len(head) + 2, *map(len, column)) for head, *column in zip(headers, *text, strict=True)
    ]
    lines = [
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in [headers, ["-" * w for w in widths], *text]
    ]
    return "\n".join(lines)
