"""Other names of arguments: NumPy's, which PyTorch takes for its own (``x.softmax(axis=1)``), and
those of an op's other overloads (``x.tensor_split(sections=2)``)."""

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
_PIECES = {"indices": "indices_or_sections", "sections": "indices_or_sections"}
#: Names of overloads that ours are one function for, by function and by name.
OF_OVERLOADS = {
    "tensor_split": {**_PIECES, "tensor_indices_or_sections": "indices_or_sections"},
    "hsplit": _PIECES,
    "vsplit": _PIECES,
    "dsplit": _PIECES,
    "dot": {"tensor": "other"},
    "transpose": {"axis0": "dim0", "axis1": "dim1"},
    "ormqr": {"input2": "tau", "input3": "other"},
    "resize_as_": {"the_template": "other"},
    "isin": {"element": "elements", "test_element": "test_elements"},
    "result_type": {
        "tensor": "tensor1",
        "scalar1": "tensor1",
        "other": "tensor2",
        "scalar": "tensor2",
        "scalar2": "tensor2",
    },
}
#: The parameters that code written for NumPy names: functions without them are left as they are.
_NAMED = {"dim", "dims", "keepdim"}


def with_synonyms(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a Python function of tensors to take the other names as well, if there are any."""
    code = inspect.unwrap(fn).__code__
    own = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    known = OF_OVERLOADS.get(fn.__name__, {})
    if not own.isdisjoint(_NAMED):
        numpys = {k: ours for k, ours in SYNONYMS.items() if k not in own and ours in own}
        known = {**numpys, **known}
    if not known:
        return fn

    @functools.wraps(fn)
    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not own.issuperset(kwargs):
            kwargs = _renamed(kwargs, known)
        return fn(*args, **kwargs)

    return function


def _renamed(kwargs: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """Rename arguments to PyTorch's names; one that is given by both stays, for the function to
    refuse."""
    renamed: dict[str, Any] = {}
    for key, value in kwargs.items():
        name = known.get(key, key)
        renamed[key if name != key and (name in kwargs or name in renamed) else name] = value
    return renamed
