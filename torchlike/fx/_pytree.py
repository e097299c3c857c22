"""``torch.fx._pytree``: arguments flattened by a structure that was seen before."""

from __future__ import annotations

from typing import Any

from torchlike.utils import _pytree as pytree


def tree_flatten_spec(tree: Any, spec: Any, exact_structural_match: bool = False) -> list[Any]:
    """The leaves of ``tree``, which has the structure ``spec`` (below its leaves it may have more).
    ValueError for another structure."""
    if spec.is_leaf():
        return [tree]
    children, context = _children(tree)
    given = spec.children() if hasattr(spec, "children") else spec.children_specs
    if len(children) != len(given):
        raise ValueError(f"expected {len(given)} children, found {len(children)} in {type(tree)}")
    if isinstance(tree, dict) and spec.context is not None and list(spec.context) != context:
        children = [tree[k] for k in spec.context]
    return [leaf for c, s in zip(children, given, strict=True) for leaf in tree_flatten_spec(c, s)]


def _children(tree: Any) -> tuple[list[Any], Any]:
    if isinstance(tree, dict):
        return list(tree.values()), list(tree)
    if isinstance(tree, (list, tuple)):
        return list(tree), None
    leaves, spec = pytree.tree_flatten(tree, is_leaf=lambda x: x is not tree)
    return leaves, spec
