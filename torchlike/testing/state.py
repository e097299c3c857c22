"""The state that a function finds outside of its arguments, kept and brought back between runs."""

from __future__ import annotations

import copy
import functools
import types
from typing import Any

from torchlike._jit.call.function import JitFunction
from torchlike._jit.capture.refusals import is_library, is_library_function
from torchlike._runtime.homes import home
from torchlike.autograd.grad_mode import no_grad
from torchlike.nn import Module
from torchlike.optim import Optimizer
from torchlike.random import Generator
from torchlike.tensor import Tensor
from torchlike.testing.python_state import COLLECTIONS, PythonState

#: So many objects deep is looked; a model held by an object held by a global is 3 deep.
_DEPTH = 12


class ReachableState:
    """Tensors, optimizers and generators that a function reaches: its closure, the globals that it
    names, the object that it is a method of, and what hangs on these.

    And the Python values that stand there: counters, lists, dictionaries.

    Attributes:
      tensors: by a name such as ``model.weight``.
    """

    def __init__(self, fn: Any) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._optimizers: list[Optimizer] = []
        self._generators: list[Generator] = []
        self._python = PythonState()
        self._seen: dict[int, Any] = {}
        self._walk(fn, "", 0)
        self._values = [
            (t, t.detach().clone(), None if t.grad is None else t.grad.detach().clone())
            for t in self.tensors.values()
        ]
        self._states = [copy.deepcopy(o.state_dict()) for o in self._optimizers]
        self._positions = [g.get_state() for g in self._generators]

    def restore(self) -> list[str]:
        """Restore values, gradients, optimizers, generators and Python values as they were when the
        state was looked up; return the names of the Python values that had changed."""
        changed = self._python.restore()
        with no_grad():
            for t, value, grad in self._values:
                t.detach().copy_(value)
                t.grad = None if grad is None else grad.clone()
        for optimizer, state in zip(self._optimizers, self._states, strict=True):
            optimizer.state.clear()
            optimizer.load_state_dict(copy.deepcopy(state))
        for generator, position in zip(self._generators, self._positions, strict=True):
            generator.set_state(position)
        return changed

    def observed(self) -> dict[str, Any]:
        """Copy the tensors' values and gradients."""
        found: dict[str, Any] = {}
        for name, t in self.tensors.items():
            found[name] = t.detach().clone()
            found[f"{name}.grad"] = None if t.grad is None else t.grad.detach().clone()
        return found

    def _walk(self, x: Any, name: str, depth: int) -> None:
        if depth > _DEPTH or id(x) in self._seen or isinstance(x, (str, bytes, int, float, type)):
            return
        self._seen[id(x)] = x
        if isinstance(x, Tensor):
            if x.is_leaf and not (0 in x.stride() and x.numel() > 1):
                self.tensors[name or "tensor"] = x
            return
        if isinstance(x, Generator):
            self._generators.append(x)
            return
        if isinstance(x, Optimizer):
            self._optimizers.append(x)
        inside = _inside(x)
        if (inside or isinstance(x, COLLECTIONS)) and not isinstance(x, Optimizer):
            self._python.add(x, name)
        if isinstance(x, Module):
            for table in _TABLES:
                self._python.add(vars(x)[table], name)
        for key, value in inside:
            dot = "." if name and key and not key.startswith("[") else ""
            self._walk(value, f"{name}{dot}{key}", depth + 1)
        for method in _methods(x):  # under no name of the object's: what they name is elsewhere
            self._walk(method, "", depth + 1)


def _inside(x: Any) -> list[tuple[str, Any]]:
    """Return the objects that an object holds, by name."""
    if isinstance(x, JitFunction):
        return [("", x._fn)]
    if isinstance(x, functools.partial):
        return [("", x.func), ("args", x.args), ("keywords", x.keywords)]
    if isinstance(x, types.MethodType):
        return [("self", x.__self__), ("", x.__func__)]
    if isinstance(x, types.FunctionType):
        return [] if is_library_function(x) else _of_function(x)
    if isinstance(x, dict):
        return [(f"[{k!r}]", v) for k, v in x.items()]
    if isinstance(x, (list, tuple)):
        return [(f"[{i}]", v) for i, v in enumerate(x)]
    if isinstance(x, Module):
        own = [(k, v) for k, v in vars(x).items() if k not in _TABLES]
        return [*(entry for table in _TABLES for entry in vars(x)[table].items()), *own]
    if isinstance(x, Optimizer):
        return [("param_groups", x.param_groups)]
    if isinstance(x, types.ModuleType) or not hasattr(x, "__dict__"):
        return []
    return [] if is_library(home(type(x)), "") else list(vars(x).items())


def _methods(x: Any) -> list[types.FunctionType]:
    """Return the functions of an object's classes, unless these are a library's."""
    own = [c for c in type(x).__mro__ if not is_library(home(c), "")]
    return [f for c in own for f in vars(c).values() if isinstance(f, types.FunctionType)]


_TABLES = ("_parameters", "_buffers", "_modules")


def _of_function(fn: types.FunctionType) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:  # not bound yet
            continue
    codes = [fn.__code__]
    while codes:
        code = codes.pop()
        found += [(n, fn.__globals__[n]) for n in code.co_names if n in fn.__globals__]
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    if hasattr(fn, "__wrapped__"):
        found.append(("", fn.__wrapped__))
    return found
