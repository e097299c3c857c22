"""Calls in one form: arguments named, and operators for functions that do the same."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar

import torchlike
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.interpreter import Transformer
from torchlike.fx.node import Argument, Node, map_aggregate
from torchlike.fx.operator_schemas import create_type_hint, normalize_function, normalize_module
from torchlike.fx.proxy import Proxy

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """``NormalizeArgs(module).transform()``: all arguments of calls are named, with the defaults.

    Calls of functions with several overloads stay as they are unless ``ShapeProp`` has noted the
    types of their arguments, and so do those of functions of ``*args``.
    ``normalize_to_only_use_kwargs=False`` leaves arguments by position where they are.
    """

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        #: What stands for a node of the new graph -> the node of the old one.
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Argument:
        if n.op == "call_function":
            made = self._called(n)
        else:
            made = super().run_node(n)
        if n.op != "output":
            self.node_map[made] = n
            made.node.meta, made.node.type = n.meta, n.type
        return made

    def _called(self, n: Node) -> Proxy:
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        types = map_aggregate(n.args, _type_of)
        hints = tuple(create_type_hint(kind) for kind in types)
        named = {name: create_type_hint(map_aggregate(a, _type_of)) for name, a in n.kwargs.items()}
        found = normalize_function(
            n.target, args, kwargs, hints, named, self.normalize_to_only_use_kwargs
        )
        return super().call_function(n.target, *(found or (args, kwargs)))

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Call the submodule with its arguments named."""
        found = normalize_module(
            self.module, target, args, kwargs, self.normalize_to_only_use_kwargs
        )
        return super().call_module(target, *(found or (args, kwargs)))


def _type_of(value: Any) -> Any:
    return value.meta.get("type") if isinstance(value, Node) else type(value)


class NormalizeOperators(Transformer):
    """``NormalizeOperators(module).transform()``: ``torch.add(a, b)`` becomes ``a + b``, and so for
    the other functions of two arguments that Python has operators for.

    Differs from PyTorch: calls with options (``alpha``, ``rounding_mode``) stay, for operators have
    none; PyTorch drops the options.
    """

    binary_magic_method_remap: ClassVar[dict[Callable[..., Any], Callable[..., Any]]] = {
        getattr(torchlike, name): function
        for name, function in (
            ("add", operator.add),
            ("mul", operator.mul),
            ("sub", operator.sub),
            ("div", operator.truediv),
            ("floor_divide", operator.floordiv),
            ("remainder", operator.mod),
            ("eq", operator.eq),
            ("ne", operator.ne),
            ("lt", operator.lt),
            ("le", operator.le),
            ("gt", operator.gt),
            ("ge", operator.ge),
        )
    }

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Argument:
        """Call the function, or the operator for it."""
        if target in self.binary_magic_method_remap and len(args) == 2 and not kwargs:
            return super().call_function(self.binary_magic_method_remap[target], args, {})
        return super().call_function(target, args, kwargs)
