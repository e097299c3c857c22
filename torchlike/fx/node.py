"""A step of a graph: what is called, with which arguments, and which steps use the result."""

from __future__ import annotations

import copy as copying
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

import torchlike
from torchlike._core import devices, dtypes, layouts
from torchlike.fx._names import qualified_name as _get_qualified_name
from torchlike.fx.immutable_collections import immutable_dict, immutable_list
from torchlike.fx.operator_schemas import ArgsKwargsPair, normalize_function, normalize_module
from torchlike.tensor import Tensor

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

#: Numbers and the like that stand for themselves among arguments.
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    dtypes.dtype,
    Tensor,
    devices.device,
    layouts.memory_format,
    layouts.layout,
)
BaseArgumentTypes = str | int | float | bool | complex | dtypes.dtype | Tensor | devices.device
Target = Callable[..., Any] | str
#: What a node holds among its arguments, and what one gives when it runs: a tensor, a number, a
#: list of them, or in a graph a node.
Argument = Any

_OPERATIONS_TEXT = """
placeholder call_method call_module call_function get_attr output root
"""
_OPERATIONS = tuple(_OPERATIONS_TEXT.split())
#: Functions whose calls are kept, though nothing uses their results.
_side_effectful_functions: set[Any] = {
    torchlike._assert,
    operator.setitem,
    torchlike.ops.aten._assert_scalar.default,
}


def has_side_effect(fn: Any) -> Argument:
    """Mark a function: calls of it are not dropped as dead code. Gives the function."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Argument:
    """Return arguments with ``fn`` applied to each that is no tuple, list, dict or slice; lists and
    dicts become immutable ones."""
    if isinstance(a, tuple):
        parts = tuple([map_aggregate(x, fn) for x in a])
        return type(a)(*parts) if hasattr(a, "_fields") else parts
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict((k, map_aggregate(v, fn)) for k, v in a.items())
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Argument:
    """Return arguments with ``fn`` applied to each node."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _type_repr(obj: Any) -> str:
    """Return a type as annotations write it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{obj.__module__.replace('torchlike', 'torch', 1)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace("torchlike.", "torch.")


def _format_arg(arg: Any) -> str:
    """Return an argument as a graph's text writes it."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, list):
        return f"[{', '.join(map(_format_arg, arg))}]"
    if isinstance(arg, tuple):
        inside = ", ".join(map(_format_arg, arg))
        return f"({inside},)" if len(arg) == 1 else f"({inside})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{k}: {_format_arg(v)}' for k, v in arg.items())}}}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """A step of a graph.

    ``op`` is "placeholder", "get_attr", "call_function", "call_method", "call_module" or "output";
    ``target`` what is called or read; ``users`` are the nodes that use the result, as the keys of
    a dictionary.
    """

    target: Any
    #: The part that the node goes to, for ``passes.split_utils``: there once it is set.
    tag: str
    #: What ``passes.graph_manipulation`` notes: there once it is set.
    size_bytes: Any
    #: What ``passes.param_fetch`` notes.
    attrs_for_lowering: dict[str, Any]

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Any,
        args: Any,
        kwargs: Any,
        return_type: Any = None,
    ) -> None:
        if op not in _OPERATIONS:
            raise AssertionError(f"op '{op}' is not one of {_OPERATIONS}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                    f"{type(target)} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} "
                "but a str is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = (
            graph,
            name,
            op,
            target,
            return_type,
        )
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = immutable_dict()
        self._prev: Node = self
        self._next: Node = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self.meta: dict[str, Any] = {}
        self._set(args, kwargs)

    # -- its place in the graph --------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of this graph to before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        self.graph._order = None

    def append(self, x: Node) -> None:
        """Move a node of this graph to after this one."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    _remove_from_list = _unlink

    def _position(self) -> int:
        order = self.graph._order
        if order is None or order.get(self) is None:
            order = self.graph._order = {n: i for i, n in enumerate(self.graph.nodes)}
        return order[self] if self in order else len(order)

    def __lt__(self, other: Node) -> bool:
        return self._position() < other._position()

    def __gt__(self, other: Node) -> bool:
        return self._position() > other._position()

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # -- arguments ---------------------------------------------------------------------------------

    def _set(self, args: Any, kwargs: Any) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}

        def use(n: Node) -> Node:
            self._input_nodes.setdefault(n)
            n.users.setdefault(self)
            return n

        self._args, self._kwargs = map_arg(tuple(args), use), map_arg(dict(kwargs), use)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments: nodes, numbers, and lists of these."""
        return self._args

    @args.setter
    def args(self, value: tuple[Any, ...]) -> None:
        self._set(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by keyword."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Any]) -> None:
        self._set(self._args, value)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace one positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Insert a positional argument before one."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace one argument by keyword."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replace one of the arguments by another node, wherever it stands."""
        for hook in self._replace_hooks():
            hook(old=old_input, new=new_input.name, user=self)
        change = lambda n: new_input if n is old_input else n  # noqa: E731
        self._set(map_arg(self._args, change), map_arg(self._kwargs, change))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the users of this node use another instead. Gives those users."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                    "replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = []
        for user in [u for u in self.users if delete_user_cb(u)]:
            user.replace_input_with(self, replace_with)
            changed.append(user)
        return changed

    def _replace_hooks(self) -> Iterable[Any]:
        return getattr(self.graph.owning_module, "_replace_hooks", ()) or ()

    # -- what it says ------------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """The lines of the traced program that made the node, where they were recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether a node does something besides giving a result: dead-code elimination keeps
        it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if self.target in _side_effectful_functions:
                return True
            schema = getattr(self.target, "_schema", None)
            if schema is not None and getattr(schema, "is_mutable", False):
                return True
            return impure_random and getattr(self.target, "__name__", "") in _RANDOM
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            target = module.get_submodule(self.target)
            return getattr(target, "_is_impure", False)
        return False

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> ArgsKwargsPair | None:
        """Return the arguments by the names of the called function's or module's parameters, with
        the defaults, as ``(args, kwargs)``; None for a node of another kind, and where they are not
        known. See ``torch.fx.operator_schemas.normalize_function``."""
        if self.op == "call_function":
            return normalize_function(
                self.target,
                self.args,
                self.kwargs,
                arg_types,
                kwarg_types,
                normalize_to_only_use_kwargs,
            )
        if self.op == "call_module":
            return normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        if module == "builtins":
            return f"builtins.{target.__name__}"
        if module == "_operator":
            return f"operator.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """Return the node's line of the graph's text."""
        kind = f"{_type_repr(self.type)} " if self.type else ""
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = "
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target}{f' : {kind}'.rstrip() if kind else ''}")
            default = f"(default={self._args[0]})" if self._args else ""
            return f"{head}{self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{head}{self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            if self.type and maybe_return_typename is not None:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self._args[0] if self._args else None}"
        return (
            f"{head}{self.op}[target={self._pretty_print_target(self.target)}]"
            f"(args = {_format_arg(self._args)}, kwargs = {_format_arg(self._kwargs)})"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        copying.deepcopy(self.graph, memo)  # which notes copies of its nodes
        return memo[id(self)]

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def _rename(self, candidate: str) -> None:
        """Rename the node: to this name, or to one like it where it is taken."""
        if candidate == self.name:
            return
        names = self.graph._graph_namespace
        self.name = names.create_name(candidate, None)
        names._rename_object(self, self.name)


#: Functions that draw random numbers: where nothing uses them, they still move the generator.
_RANDOM_TEXT = """bernoulli multinomial normal poisson rand rand_like randint randint_like randn
    randn_like randperm"""
_RANDOM = frozenset(_RANDOM_TEXT.split())
