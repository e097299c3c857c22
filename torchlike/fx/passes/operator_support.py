"""Which nodes a backend takes."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from torchlike.fx.node import Argument, Node
from torchlike.fx.passes.shape_prop import TensorMetadata
from torchlike.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = [
    "OpSupports",
    "OperatorSupport",
    "OperatorSupportBase",
    "any_chain",
    "chain",
    "create_op_support",
]


class OperatorSupportBase(abc.ABC):
    """Says of each node whether it is taken."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Return whether the backend supports a node."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """By a table: target -> None (all dtypes), or the dtypes that each argument may have, by
    position and by keyword. None stands for an argument of any dtype. ``ShapeProp`` must have
    noted the dtypes: KeyError without."""

    _support_dict: Mapping[str, Any]

    def __init__(self, support_dict: Mapping[str, Any] | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        allowed = self._support_dict[target]
        if allowed is None:
            return True
        by_position, by_name = allowed
        given = list(zip(node.args, by_position, strict=False))
        given += [(node.kwargs.get(name), dtypes) for name, dtypes in by_name.items()]
        return all(
            _dtype(own) in dtypes
            for own, dtypes in given
            if isinstance(own, Node) and dtypes is not None
        )


def _dtype(node: Node) -> Argument:
    """Return the dtype that ``ShapeProp`` noted, or the type of what is no tensor."""
    meta = node.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else node.meta["type"]


class _Functional(OperatorSupportBase):
    def __init__(self, function: Callable[[Mapping[str, Any], Node], bool]) -> None:
        self._function = function

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        return self._function(submodules, node)


def create_op_support(
    is_node_supported: Callable[[Mapping[str, Any], Node], bool],
) -> OperatorSupportBase:
    """Return an operator support object made of a function."""
    return _Functional(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Return an operator support that supports the nodes which all of these support."""
    return create_op_support(lambda m, n: all(s.is_node_supported(m, n) for s in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Return an operator support that supports the nodes which any of these supports."""
    return create_op_support(lambda m, n: any(s.is_node_supported(m, n) for s in op_support))


class OpSupports:
    """Ready-made ones."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: Any) -> OperatorSupportBase:
        """Return an operator support that declines nodes with an argument of a dtype."""
        return create_op_support(
            lambda _, node: all(_dtype(a) != dtype for a in node.all_input_nodes)
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Return an operator support that declines the nodes of these names."""
        return create_op_support(lambda _, node: node.name not in disallow_set)
