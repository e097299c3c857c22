"""``check_against_torch``: a function gives what it gives with real PyTorch behind its names."""

from __future__ import annotations

import importlib
import sys
import types
import unittest
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from torchlike._core import dtypes
from torchlike._core.devices import device
from torchlike._core.dtypes import dtype
from torchlike._core.size import Size
from torchlike._jit.call.function import JitFunction
from torchlike._jit.capture.refusals import is_library_function
from torchlike._ops import functions
from torchlike._runtime.homes import home
from torchlike.autograd.grad_mode import no_grad
from torchlike.interop.leaves import is_tensor_or_module
from torchlike.jit._optimized_module import OptimizedModule, uncompiled
from torchlike.nn import Module
from torchlike.random import default_generator
from torchlike.tensor import Tensor
from torchlike.testing.observation import assert_same, observe, weights
from torchlike.testing.trees import copied, named_arguments, named_leaves


def check_against_torch(
    fn: Callable[..., Any],
    *args: Any,
    seed: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    **kwargs: Any,
) -> None:
    """Raise AssertionError unless ``fn(*args, **kwargs)`` is what real PyTorch makes of it.

    The function is run twice: as it is, and with PyTorch's module, function or class wherever it,
    or one of the user's functions and classes that it calls, names one of torchlike's (``torch``,
    ``F``, ``nn.Linear``, ``float32``). Tensors among the arguments go over with their memory:
    strides, views of one tensor, ``requires_grad``. Compared are results, dtypes and shapes,
    gradients of a weighted sum, arguments after the call, and the type of an error. Both start from
    one seed, which gives the same numbers on a CPU. Tensors that the function reaches otherwise
    (globals, its closure, lists in it) go over as well. Modules are made inside of the function.

    Raises:
      unittest.SkipTest: PyTorch is not installed, or ``torch`` is torchlike in this process; pytest
        counts the test as skipped.
      TypeError: a module among the arguments, or a tensor of a dtype that NumPy cannot hand over.
      ValueError: an argument has a history (``grad_fn``).

    Args:
      fn: a function of tensors and plain values.
      args, kwargs: its arguments.
      seed: of both libraries' generators.
      rtol, atol: both or neither, as for ``assert_close``.

    Example:
      >>> torchlike.testing.check_against_torch(torch.softmax, torch.arange(3.0), -1)
    """
    torch = _real_torch()
    plain = uncompiled(fn)
    a, k = copied(args, kwargs)
    crossing = _Crossing(torch)
    theirs = jax.tree.map(crossing.over, (a, k), is_leaf=is_tensor_or_module)
    before, torch_before = default_generator.get_state(), torch.random.get_rng_state()
    try:
        default_generator.manual_seed(seed)
        found = observe(fn, a, k)
        torch.manual_seed(seed)
        expected = _observe(crossing, _Swap(torch, crossing).of(plain), *theirs)
    finally:
        default_generator.set_state(before)
        torch.random.set_rng_state(torch_before)
    _raise_again(found, expected)
    for name in [n for n in found if n not in expected and found[n] is None]:
        del found[name]
    assert_same(found, expected, "torchlike", rtol=rtol, atol=atol, whom="PyTorch")


def _real_torch() -> Any:
    """Import PyTorch. ``unittest.SkipTest`` where there is none."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise unittest.SkipTest(
            "check_against_torch needs PyTorch, which is not installed: pip install torch"
        ) from error
    if torch.__name__ == "torchlike" or torch is sys.modules["torchlike"]:
        raise unittest.SkipTest(
            "check_against_torch needs PyTorch, but `torch` is torchlike in this process: write "
            "`import torchlike as torch` in the test instead of the alias"
        )
    return torch


def _raise_again(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Count PyTorch's own error as the one of the same name: types of errors are two classes."""
    ours, theirs = found.get("error"), expected.get("error")
    if ours is not None and theirs is not None:
        names = [type(e).__name__.lstrip("_") for e in (ours, theirs)]
        if names[0] == names[1]:
            expected["error"] = ours


class _Crossing:
    """Tensors of the arguments, and their memory, in PyTorch; and back."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._memory: dict[int, Any] = {}
        self._made: dict[int, Any] = {}

    def over(self, x: Any) -> Any:
        if isinstance(x, Module):
            raise TypeError(
                "check_against_torch cannot hand a module over: make it inside of the function, "
                "where the seed gives both libraries the same weights"
            )
        if isinstance(x, dtype):
            return getattr(self._torch, x.name)
        if not isinstance(x, Tensor):
            return x
        if id(x) not in self._made:
            self._made[id(x)] = x, self._tensor(x)
        return self._made[id(x)][1]

    def _tensor(self, t: Tensor) -> Any:
        whole = t.detach().resolve_conj().resolve_neg()
        key = id(whole._storage)
        if key not in self._memory:
            n = whole.untyped_storage().nbytes() // t.dtype.itemsize
            flat = functions.as_strided(whole, (n,), (1,), 0)
            self._memory[key] = whole._storage, self._flat(flat)
        made = self._torch.as_strided(
            self._memory[key][1], tuple(t.shape), whole.stride(), whole.storage_offset()
        )
        return made.requires_grad_(t.requires_grad)

    def _flat(self, t: Tensor) -> Any:
        if t.dtype.name == "bfloat16":
            return self._torch.from_numpy(np.array(t.float().numpy())).bfloat16()
        try:
            return self._torch.from_numpy(np.array(t.numpy()))
        except TypeError as error:
            raise TypeError(f"check_against_torch cannot hand over {t.dtype}: {error}") from None

    def back(self, x: Any) -> Any:
        if isinstance(x, self._torch.dtype):
            return getattr(dtypes, str(x).removeprefix("torch."))
        if isinstance(x, self._torch.device):
            return device(str(x))
        if isinstance(x, self._torch.Size):
            return Size(x)
        if not isinstance(x, self._torch.Tensor):
            return x
        x = x.detach().resolve_conj().resolve_neg()
        if x.layout is not self._torch.strided:
            x = x.to_dense()
        if x.dtype is self._torch.bfloat16:
            return functions.as_tensor(np.array(x.float().numpy())).bfloat16()
        return functions.as_tensor(np.array(x.numpy()))


def _observe(
    crossing: _Crossing, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Observe PyTorch's run as `observe` does, with the tensors as torchlike's."""
    torch = crossing._torch
    given = named_arguments(args, kwargs)
    wanted = {n: t for n, t in given.items() if isinstance(t, torch.Tensor) and t.requires_grad}
    try:
        found = named_leaves(fn(*args, **kwargs), "the result")
        loss = _torch_total(torch, found)
        gradients: Any = ()
        if loss is not None and wanted:
            gradients = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True)
    except Exception as error:
        return {"error": error}
    found.update({f"the gradient of {n}": g for n, g in zip(wanted, gradients, strict=False)})
    for name, leaf in given.items():
        found[f"{name} after the call"] = leaf
        if isinstance(leaf, torch.Tensor) and leaf.is_leaf:
            found[f"{name}.grad after the call"] = leaf.grad
    with no_grad():
        return {n: crossing.back(x) for n, x in found.items()}


def _torch_total(torch: Any, found: dict[str, Any]) -> Any:
    """Compute `total` of PyTorch's tensors."""
    loss: Any = None
    for y in found.values():
        if not isinstance(y, torch.Tensor):
            continue
        for part in (y.real, y.imag) if y.is_complex() else (y,):
            if part.requires_grad:
                w = torch.as_tensor(weights(tuple(part.shape)), dtype=part.dtype)
                loss = (part * w).sum() + (0 if loss is None else loss)
    return loss


class _Swap:
    """The user's functions and classes, with PyTorch's names where they had torchlike's."""

    def __init__(self, torch: Any, crossing: _Crossing) -> None:
        self._torch, self._crossing = torch, crossing
        self._made: dict[int, Any] = {}

    def of(self, x: Any) -> Any:
        """Return what stands on PyTorch's side for an object that a function names."""
        if id(x) in self._made:
            return self._made[id(x)]
        if isinstance(x, types.ModuleType):
            return self._named(x.__name__, "", x)
        if isinstance(x, dtype):
            return getattr(self._torch, x.name)
        if isinstance(x, (JitFunction, OptimizedModule)):
            return self.of(uncompiled(x))
        if isinstance(x, types.MethodType):
            return types.MethodType(self.of(x.__func__), x.__self__)
        if _is_ours(x):
            return self._named(home(x), x.__qualname__, x)
        if isinstance(x, types.FunctionType) and not is_library_function(x):
            return self._function(x)
        if isinstance(x, type) and any(_is_ours(base) for base in x.__mro__):
            return self._class(x)
        if isinstance(x, Module):
            raise TypeError(
                f"check_against_torch: the function reaches a {type(x).__name__} of torchlike's "
                "from outside; make it inside of the function"
            )
        if isinstance(x, Tensor):
            return self._crossing.over(x)
        if type(x) is list:
            return [self.of(v) for v in x]
        if type(x) is tuple:
            return tuple(self.of(v) for v in x)
        return {k: self.of(v) for k, v in x.items()} if type(x) is dict else x

    def _named(self, module: str, name: str, x: Any) -> Any:
        """Return PyTorch's object of the same name."""
        if module.partition(".")[0] != "torchlike":
            return x
        if not name:
            return importlib.import_module("torch" + module.removeprefix("torchlike"))
        for place in (
            self._torch,
            self._torch.nn.functional,
            self._torch.nn,
            self._torch.optim,
            self._torch.linalg,
            self._torch.special,
            self._torch.fft,
            self._torch.func,
            self._torch.autograd,
        ):
            found = getattr(place, name, None)
            if found is not None:
                return found
        raise TypeError(f"check_against_torch: PyTorch has no counterpart of {module}.{name}")

    def _function(self, fn: types.FunctionType) -> Any:
        cells = tuple(types.CellType() for _ in fn.__closure__ or ())
        made = types.FunctionType(
            fn.__code__, {"__builtins__": __builtins__}, fn.__name__, None, cells or None
        )
        self._made[id(fn)] = made  # before it is looked into: it may call itself
        names = _names(fn.__code__)
        made.__globals__.update(
            {n: self.of(v) for n, v in fn.__globals__.items() if n in names or n == "__name__"}
        )
        for new, old in zip(cells, fn.__closure__ or (), strict=True):
            new.cell_contents = self.of(old.cell_contents)
        if fn.__defaults__ is not None:
            made.__defaults__ = tuple(map(self.of, fn.__defaults__))
        if fn.__kwdefaults__ is not None:
            made.__kwdefaults__ = {k: self.of(v) for k, v in fn.__kwdefaults__.items()}
        return made

    def _class(self, cls: type) -> Any:
        """Make the user's subclass of a module, an optimizer or ``autograd.Function`` anew, on
        PyTorch's."""
        bases = tuple(self.of(base) for base in cls.__bases__)
        body: dict[str, Any] = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
        made = self._made[id(cls)] = type(bases[0])(cls.__name__, bases, body)
        for name, value in vars(cls).items():
            if name in ("__dict__", "__weakref__", "__module__", "__qualname__"):
                continue
            if name.startswith("_") and isinstance(value, type) and _is_ours(value):
                continue  # what torchlike puts into its subclasses, as PyTorch does into its own
            if isinstance(value, (staticmethod, classmethod)):
                setattr(made, name, type(value)(self._method(value.__func__, made)))
            elif isinstance(value, property):
                parts = (value.fget, value.fset, value.fdel)
                setattr(made, name, property(*(f and self._method(f, made) for f in parts)))
            elif isinstance(value, types.FunctionType):
                setattr(made, name, self._method(value, made))
            else:
                setattr(made, name, self.of(value))
        return made

    def _method(self, fn: Any, cls: type) -> Any:
        """Make a method anew, whose ``super()`` is of the class that was made."""
        made = self.of(fn)
        for name, cell in zip(fn.__code__.co_freevars, made.__closure__ or (), strict=True):
            if name == "__class__":
                cell.cell_contents = cls
        return made


def _is_ours(x: Any) -> bool:
    """Return whether an object is a function or class of torchlike."""
    if not hasattr(x, "__qualname__"):
        return False
    if isinstance(x, types.FunctionType) and not is_library_function(x):
        return False
    return home(x).partition(".")[0] in ("torchlike", "torch")


def _names(code: types.CodeType) -> set[str]:
    """Return the names that code, and code inside of it, may look up."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found
