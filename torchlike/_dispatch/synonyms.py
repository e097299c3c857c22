"""NumPy's names of arguments, which PyTorch takes for its own: ``x.softmax(axis=1)``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

#: NumPy's names that PyTorch accepts for its own.
SYNONYMS = {
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "x1": "input",
    "x2": "other",
    "axes": "dims",
    "a": "input",
}
#: The parameters that code written for NumPy names: functions without them are left as they are.
_NAMED = {"dim", "dims", "keepdim"}


def with_synonyms(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A Python function of tensors that takes NumPy's names as well, if it has such parameters."""
    code = inspect.unwrap(fn).__code__
    own = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    if own.isdisjoint(_NAMED):
        return fn
    known = {theirs: ours for theirs, ours in SYNONYMS.items() if theirs not in own and ours in own}

    @functools.wraps(fn)
    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not own.issuperset(kwargs):
            kwargs = _renamed(kwargs, known)
        return fn(*args, **kwargs)

    return function


def _renamed(kwargs: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """Arguments by PyTorch's names; one that is given by both stays, for the function to refuse."""
    return {known[k] if k in known and known[k] not in kwargs else k: v for k, v in kwargs.items()}
