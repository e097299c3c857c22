"""Other spellings of arguments.

NumPy's names, which PyTorch takes for its own (``x.softmax(axis=1)``); those of an op's other
overloads (``x.tensor_split(sections=2)``), which its definition has as ``other_names=``; and
PyTorch's old signatures, in which numbers stand before the tensors (``addcmul(x, value, a, b)``):
they work, and are told of once.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchlike._core import errors, overrides
from torchlike._core.casts import NUMBERS
from torchlike._runtime.near_names import tell_signature

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


def with_synonyms(fn: Callable[..., Any], others: Mapping[str, str] = {}) -> Callable[..., Any]:
    """Decorate a Python function of tensors to take NumPy's names as well, and ``others`` (each for
    a name of its own).

    Where it fails on the first object with ``__torch_function__`` there is, that is asked: before,
    nobody looks at the classes of arguments.
    """
    code = inspect.unwrap(fn).__code__
    own = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    known = {**{k: others[v] for k, v in SYNONYMS.items() if v in others}, **others}
    if not own.isdisjoint(_NAMED):
        numpys = {k: ours for k, ours in SYNONYMS.items() if k not in own and ours in own}
        known = {**numpys, **known}

    @functools.wraps(fn)
    def function(*args: object, **kwargs: object) -> object:
        given = kwargs
        if kwargs and known and not own.issuperset(kwargs):
            kwargs = _renamed(kwargs, known)
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            if not overrides.is_asked_now.get()(function, code, args, kwargs):
                tell_signature(error, fn, kwargs.keys() - own)
                raise
        return function(*args, **given)

    function.other_names, code = known, function.__code__  # type: ignore[attr-defined]
    return function


def _renamed(kwargs: dict[str, object], known: dict[str, str]) -> dict[str, object]:
    """Rename arguments to PyTorch's names; one that is given by both stays, for the function to
    refuse."""
    renamed: dict[str, object] = {}
    for key, value in kwargs.items():
        name = known.get(key, key)
        renamed[key if name != key and (name in kwargs or name in renamed) else name] = value
    return renamed


def warn_of_old_signature(
    op: str, names: Sequence[str], args: Sequence[Any], numbers: Sequence[str], of_method: bool
) -> None:
    """Warn of a call of ``op``: its arguments are tensors, by ``names``, and ``numbers``. The first
    tensor is not shown of a method."""
    tensors, rest = iter(names), iter(numbers)
    old = [
        f"Number {next(rest)}" if type(a) in NUMBERS else f"Tensor {next(tensors)}" for a in args
    ]
    count = sum(type(a) not in NUMBERS for a in args)
    today = [f"Tensor {n}" for n in names[:count]]
    defaults = [f"Number {n} = 1" for n in names[count:]]
    if of_method:
        old, today = old[1:], today[1:]
    else:
        old, defaults = [*old, "*", "Tensor out = None"], [*defaults, "Tensor out = None"]
    errors.warn_user_once(
        f"This overload of {op} is deprecated:\n\t{op}({', '.join(old)})\nConsider using one of "
        f"the following signatures instead:\n\t{op}({', '.join([*today, '*', *defaults])})"
    )
