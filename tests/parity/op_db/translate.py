"""torchlike's callable for a callable in PyTorch's tables.

Most entries name a function (``torch.nn.functional.relu``): torchlike's of the same dotted name is
meant. Entries with a wrapper of their own (``lambda inp, *args: torch.polygamma(0, inp)``) are run
with that very wrapper, its global ``torch`` replaced by torchlike.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations as table

import torchlike
import torchlike.fft
import torchlike.linalg
import torchlike.nn
import torchlike.nn.functional
import torchlike.special


class MissingName(Exception):
    """torchlike has no function or method of this name."""


_SPACES = (
    "",
    "Tensor",
    "nn.functional",
    "linalg",
    "special",
    "fft",
    "masked",
    "signal.windows",
    "sparse",
)
#: Modules of PyTorch's tables whose functions are rebuilt rather than looked up.
_TABLES = "torch.testing._internal"


def get(root: Any, path: str) -> Any:
    """``root.a.b`` from "a.b". AttributeError when there is none."""
    return operator.attrgetter(path)(root) if path else root


def named(path: str) -> Any:
    """torchlike's object at a dotted name. MissingName when there is none."""
    try:
        return get(torchlike, path)
    except AttributeError:
        raise MissingName(path) from None


@functools.cache
def _paths() -> dict[int, str]:
    """Where each of PyTorch's public functions and methods stands, by identity."""
    found: dict[int, str] = {}
    for space in _SPACES:
        module = get(torch, space)
        for name in dir(module):
            value = getattr(module, name, None)
            if callable(value):
                found.setdefault(id(value), f"{space}.{name}".lstrip("."))
    return found


def callable_of(theirs: Any) -> Callable[..., Any]:
    """torchlike's counterpart of one of PyTorch's callables. MissingName when there is none."""
    if theirs is table.wrapper_set_seed:
        return _with_seed
    if isinstance(theirs, functools.partial):
        keywords = {k: _constant(v) for k, v in theirs.keywords.items()}
        return functools.partial(callable_of(theirs.func), *map(_constant, theirs.args), **keywords)
    if isinstance(theirs, types.FunctionType) and theirs.__module__.startswith(_TABLES):
        return _rebuilt(theirs)
    path = _paths().get(id(theirs))
    if path is not None:
        return named(path)
    module = getattr(theirs, "__module__", "") or ""
    if module in ("_operator", "operator"):
        return theirs
    if isinstance(theirs, types.FunctionType) and not module.startswith("torch"):
        return _rebuilt(theirs)
    raise MissingName(f"{module}.{getattr(theirs, '__name__', type(theirs).__name__)}")


def _with_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The tables' ``wrapper_set_seed``: each call draws the same numbers."""
    torchlike.manual_seed(42)
    return op(*args, **kwargs)


def _constant(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return getattr(torchlike, str(value).removeprefix("torch."))
    return callable_of(value) if callable(value) and not isinstance(value, type) else value


def _rebuilt(fn: types.FunctionType) -> Callable[..., Any]:
    """The same Python code with PyTorch's names replaced."""
    return _rebuild(fn, {})


def _rebuild(fn: types.FunctionType, done: dict[int, Any]) -> Callable[..., Any]:
    if id(fn) in done:
        return done[id(fn)]
    space = dict(fn.__globals__)
    cells = None
    if fn.__closure__ is not None:
        cells = tuple(types.CellType() for _ in fn.__closure__)
    made = types.FunctionType(fn.__code__, space, fn.__name__, fn.__defaults__, cells)
    made.__kwdefaults__ = fn.__kwdefaults__
    done[id(fn)] = made
    for name in _global_names(fn.__code__):
        if name in space:
            space[name] = _replaced(space[name], done)
    for cell, old in zip(cells or (), fn.__closure__ or (), strict=True):
        cell.cell_contents = _replaced(old.cell_contents, done)
    return made


def _global_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


def _replaced(value: Any, done: dict[int, Any]) -> Any:
    if value is torch:
        return torchlike
    if value is torch.nn.functional:
        return torchlike.nn.functional
    if value is table.wrapper_set_seed:
        return _with_seed
    if isinstance(value, types.FunctionType) and value.__module__.startswith(_TABLES):
        return _rebuild(value, done)
    if isinstance(value, torch.dtype):
        return _constant(value)
    if isinstance(value, (types.ModuleType, type)) or not callable(value):
        return value
    path = _paths().get(id(value))
    return value if path is None else named(path)


def function_of(info: Any) -> Callable[..., Any]:
    """torchlike's function for an entry. MissingName when there is none."""
    module = getattr(info.op, "__module__", None) or ""
    if isinstance(info.op, types.FunctionType) and module.startswith(_TABLES):
        return callable_of(info.op)
    try:
        direct = get(torch, info.name)
    except AttributeError:
        direct = None
    if direct is info.op or (direct is not None and direct == info.op):
        return named(info.name)
    return callable_of(info.op)
