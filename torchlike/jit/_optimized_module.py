"""``OptimizedModule``: what ``torch.compile(module)`` and ``torchlike.jit(module)`` give."""

from __future__ import annotations

import warnings
from collections.abc import Sized
from typing import Any

from torchlike._jit.call.entry import compiled as made
from torchlike._jit.call.function import JitFunction
from torchlike.nn import Module, hooks

#: Attributes of its own; all others are the wrapped module's.
_OWN = frozenset(("_options", "_orig_mod", "forward"))


class OptimizedModule(Module):
    """A module around another one, ``_orig_mod``, which it calls compiled.

    Parameters, buffers and attributes are the wrapped module's, also when they are set. In
    ``state_dict`` and ``named_parameters`` their names begin with ``_orig_mod.``, as in PyTorch's
    checkpoints of compiled modules. ``module.compile()`` compiles a module without a wrapper.
    """

    def __init__(self, module: Module, **options: Any) -> None:
        super().__init__()
        self._orig_mod = module
        #: Those of ``compiled``, which say how.
        self._options = options
        compiled = made(module, **options)
        # With the mode "off" it is the module again, which would be registered as a second child.
        self.forward = module.__call__ if compiled is module else compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if hooks.everywhere.around_calls():
            warnings.warn(
                "what torch.compile or torchlike.jit makes of a module is a module of its own, so "
                "hooks on all modules (as by register_module_forward_hook) are called once more "
                "for it; module.compile() compiles without another module",
                stacklevel=2,
            )
        return super().__call__(*args, **kwargs)

    def __len__(self) -> int:
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self._orig_mod, name)  # whose error names its class, as PyTorch's does

    def __setattr__(self, name: str, value: Any) -> None:
        wrapped = self.__dict__.get("_modules", {}).get("_orig_mod")
        if wrapped is None or name in _OWN or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(wrapped, name, value)

    def __delattr__(self, name: str) -> None:
        if name in _OWN or name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self) -> Any:
        # A compiled program belongs to its process.
        return _made_again, (type(self), self._orig_mod, self._options)


class JitModule(OptimizedModule):
    """An ``OptimizedModule`` that answers for its `JitFunction`, which is its ``forward``, too:
    ``programs()``, ``reset()``, ``compiles`` and the like, where the module has no such name."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_") or name not in _ANSWERED:
                raise
            return getattr(self.forward, name)


#: What a `JitFunction` tells of itself.
_ANSWERED = frozenset((*dir(JitFunction), "fell_back", "ran_eagerly"))


def _made_again(
    cls: type[OptimizedModule], module: Module, options: dict[str, Any]
) -> OptimizedModule:
    return cls(module, **options)


def jit_function_of(fn: Any) -> Any:
    """Return the `JitFunction` in what ``torchlike.jit`` or ``torch.compile`` gave; anything else
    as it is."""
    found = fn.forward if isinstance(fn, OptimizedModule) else fn
    return found if isinstance(found, JitFunction) else fn


def uncompiled(fn: Any) -> Any:
    """Return what ``torchlike.jit`` or ``torch.compile`` was given to make ``fn``; anything else as
    it is."""
    if isinstance(fn, OptimizedModule):
        return fn._orig_mod
    return fn._fn if isinstance(fn, JitFunction) else fn
