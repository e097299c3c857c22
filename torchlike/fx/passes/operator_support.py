"""Which nodes a backend takes."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from torchlike._core.tensor import Tensor
from torchlike.fx.node import Argument, Node, _get_qualified_name

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain",
           "create_op_support"]  # fmt: skip


def get_node_target(submodules: Mapping[str, Any], node: Node) -> str:
    """What a node calls, by name: a module's class, a function's path, a method's name."""
    if node.op == "call_module":
        module = submodules[node.target]
        base = getattr(module, "_base_class_origin", type(module))
        return f"{base.__module__.replace('torchlike', 'torch', 1)}.{base.__name__}"
    if node.op == "call_function":
        target = node.target
        own = getattr(target, "__module__", None)
        if own is not None and "acc_ops" in own:
            return f"acc_ops.{target.__name__}"
        if own == "_operator":
            return f"_operator.{target.__name__}"
        return _get_qualified_name(target)
    return str(node.target)


class OperatorSupportBase(abc.ABC):
    """Says of each node whether it is taken."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether a node is taken."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """By a table: target -> None (all dtypes), or dtypes of arguments and keyword arguments."""

    _support_dict: Mapping[str, Any]

    def __init__(self, support_dict: Mapping[str, Any] | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        if node.op not in ("call_module", "call_function", "call_method"):
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        allowed = self._support_dict[target]
        if allowed is None:
            return True
        by_position, by_name = allowed
        for i, dtypes in enumerate(by_position):
            own = node.args[i] if i < len(node.args) else None
            if isinstance(own, Node) and _dtype(own) not in dtypes:
                return False
        for name, dtypes in by_name.items():
            if isinstance(node.kwargs.get(name), Node) and _dtype(node.kwargs[name]) not in dtypes:
                return False
        return True


def _dtype(node: Any) -> Argument:
    meta = node.meta.get("tensor_meta")
    value = node.meta.get("val", meta)
    return value.dtype if isinstance(value, Tensor) else getattr(meta, "dtype", None)


class _Functional(OperatorSupportBase):
    def __init__(self, function: Callable[[Mapping[str, Any], Node], bool]) -> None:
        self._function = function

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        return self._function(submodules, node)


def create_op_support(
    is_node_supported: Callable[[Mapping[str, Any], Node], bool],
) -> OperatorSupportBase:
    """One made of a function."""
    return _Functional(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Takes what all take."""
    return create_op_support(lambda m, n: all(s.is_node_supported(m, n) for s in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Takes what one of them takes."""
    return create_op_support(lambda m, n: any(s.is_node_supported(m, n) for s in op_support))


class OpSupports:
    """Ready-made ones."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: Any) -> OperatorSupportBase:
        """Takes what has no argument of a dtype."""
        return create_op_support(
            lambda _, node: all(_dtype(a) != dtype for a in node.all_input_nodes)
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Takes what is not named."""
        return create_op_support(lambda _, node: node.name not in disallow_set)
