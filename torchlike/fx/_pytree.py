"""``torch.fx._pytree``: arguments flattened by a structure that was seen before."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

from torchlike.utils import _pytree as pytree

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

#: How the children of a class are asked of a value, which may be a Proxy: ``f(value, spec)``.
_children_by_spec: dict[Any, Callable[[Any, Any], list[Any]]] = {
    dict: lambda value, spec: [value[key] for key in spec.context],
    list: lambda value, spec: [value[i] for i in range(_count(spec))],
    tuple: lambda value, spec: [value[i] for i in range(_count(spec))],
    OrderedDict: lambda value, spec: [value[key] for key in spec.context],
    namedtuple: lambda value, spec: [value[i] for i in range(_count(spec))],
}


def register_pytree_flatten_spec(
    cls: Any,
    flatten_fn_spec: Callable[[Any, Any], list[Any]],
    flatten_fn_exact_match_spec: Callable[[Any, Any], bool] | None = None,
) -> None:
    """Register how to take a class's children out of a value of a known structure."""
    _children_by_spec[cls] = flatten_fn_spec


def tree_flatten_spec(tree: Any, spec: Any, exact_structural_match: bool = False) -> list[Any]:
    """Return the leaves of ``tree``, which has the structure ``spec`` (below its leaves it may have
    more). Raises ValueError for another structure."""
    if spec.is_leaf():
        return [tree]
    children = _children(tree, spec)
    given = _given(spec)
    if len(children) != len(given):
        raise ValueError(f"expected {len(given)} children, found {len(children)} in {type(tree)}")
    return [leaf for c, s in zip(children, given, strict=True) for leaf in tree_flatten_spec(c, s)]


def _given(spec: Any) -> list[Any]:
    return spec.children() if hasattr(spec, "children") else spec.children_specs


def _count(spec: Any) -> int:
    return len(_given(spec))


def _children(tree: Any, spec: Any) -> list[Any]:
    if isinstance(tree, (list, tuple)):
        return list(tree)
    if isinstance(tree, dict) and sorted(map(repr, tree)) != sorted(map(repr, spec.context)):
        return list(tree.values())
    rule = _children_by_spec.get(spec.type)
    if rule is not None:
        return rule(tree, spec)
    return pytree.tree_flatten(tree, is_leaf=lambda x: x is not tree)[0]
