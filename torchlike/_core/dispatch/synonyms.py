"""Other names of arguments: NumPy's, which PyTorch takes for its own (``x.softmax(axis=1)``), and
those of an op's other overloads (``x.tensor_split(sections=2)``), which its definition has as
``other_names=``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
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


def with_synonyms(
    fn: Callable[..., Any], others: Mapping[str, str] | None = None
) -> Callable[..., Any]:
    """Decorate a Python function of tensors to take NumPy's names as well, and ``others`` (each for
    a name of its own), if there are any."""
    code = inspect.unwrap(fn).__code__
    own = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    known = dict(others or {})
    if not own.isdisjoint(_NAMED):
        numpys = {k: ours for k, ours in SYNONYMS.items() if k not in own and ours in own}
        known = {**numpys, **known}
    if not known:
        return fn

    @functools.wraps(fn)
    def function(*args: object, **kwargs: object) -> object:
        if kwargs and not own.issuperset(kwargs):
            kwargs = _renamed(kwargs, known)
        return fn(*args, **kwargs)

    return function


def _renamed(kwargs: dict[str, object], known: dict[str, str]) -> dict[str, object]:
    """Rename arguments to PyTorch's names; one that is given by both stays, for the function to
    refuse."""
    renamed: dict[str, object] = {}
    for key, value in kwargs.items():
        name = known.get(key, key)
        renamed[key if name != key and (name in kwargs or name in renamed) else name] = value
    return renamed
