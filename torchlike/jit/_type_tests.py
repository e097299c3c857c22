"""``torch.jit.isinstance``: whether a value is of a container type with its contents' types."""

from __future__ import annotations

import builtins
import types
import typing
from typing import Any


def isinstance(obj: Any, target_type: Any) -> bool:
    """Return whether a value is a ``List[int]``, ``Dict[str, Tensor]``, ``Optional[…]``, …; of a
    tuple of types, any. RuntimeError for a container type without contents.

    Differs from PyTorch: an empty container is of every such type without a warning; None is of a
    Union only when that names it.
    """
    if builtins.isinstance(target_type, tuple):
        return any(_is(obj, t) for t in target_type)
    return _is(obj, target_type)


def _is(obj: Any, kind: Any) -> bool:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_is(obj, a) for a in args)
    bare = kind if origin is None else origin
    if bare in (list, tuple, dict) and not args and kind is not tuple:
        name = bare.__name__.capitalize()
        contained = "contained types" if bare is dict else "a contained type"
        example = "Dict[int, int]" if bare is dict else f"{name}[int]"
        raise RuntimeError(
            f"Attempted to use {name} without {contained}. Please add "
            f"{contained.removesuffix('s').removeprefix('a ') if bare is dict else contained}, "
            f"e.g. {example}"
        )
    if origin is list:
        return builtins.isinstance(obj, list) and all(_is(x, args[0]) for x in obj)
    if origin is dict:
        return builtins.isinstance(obj, dict) and all(
            _is(k, args[0]) and _is(v, args[1]) for k, v in obj.items()
        )
    if origin is tuple:
        return (
            builtins.isinstance(obj, tuple)
            and len(obj) == len(args)
            and all(_is(x, a) for x, a in zip(obj, args, strict=True))
        )
    if kind is None:
        return obj is None
    return builtins.isinstance(obj, bare)
