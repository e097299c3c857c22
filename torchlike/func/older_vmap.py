"""``torch._vmap_internals``: ``vmap`` by the names that libraries imported before there was
``torch.func``."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from torchlike.func import vmap as _mapped


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """Do ``torch.vmap`` without its newer arguments. Warns that it is deprecated."""
    warnings.warn(
        "Please use `torch.vmap` instead of `torch._vmap_internals.vmap`.",
        FutureWarning,
        stacklevel=2,
    )
    return _vmap(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    allow_none_pass_through: bool = False,
) -> Callable[..., Any]:
    """Do ``vmap`` without its warning. With ``allow_none_pass_through``, func may give None among
    its results, which stays None."""
    if not allow_none_pass_through:
        return _mapped(func, in_dims, out_dims)

    @functools.wraps(func)
    def mapped(*args: Any) -> Any:
        present: list[bool] = []
        is_one = [False]

        def without_none(*inside: Any) -> tuple[Any, ...]:
            results = func(*inside)
            is_one[0] = not isinstance(results, tuple)
            several = (results,) if is_one[0] else results
            present[:] = [r is not None for r in several]
            return tuple(r for r in several if r is not None)

        rest = iter(_mapped(without_none, in_dims, out_dims)(*args))
        results = tuple(next(rest) if there else None for there in present)
        return results[0] if is_one[0] else results

    return mapped
