"""``OptimizedModule``: what ``torch.compile(module)`` gives."""

from __future__ import annotations

import warnings
from collections.abc import Sized
from typing import Any

from torchlike._jit.call.entry import compiled as made
from torchlike._jit.call.recompile_limit import RecompileLimit
from torchlike.nn import Module, hooks

#: Attributes of its own; all others are the wrapped module's.
_OWN = frozenset(("_dynamic", "_fullgraph", "_orig_mod", "_recompile_limit", "_warmup", "forward"))


class OptimizedModule(Module):
    """A module around another one, ``_orig_mod``, which it calls compiled.

    Parameters, buffers and attributes are the wrapped module's, also when they are set. In
    ``state_dict`` and ``named_parameters`` their names begin with ``_orig_mod.``, as in PyTorch's
    checkpoints of compiled modules. ``module.compile()`` compiles a module without a wrapper.
    """

    def __init__(
        self,
        module: Module,
        dynamic: Any = None,
        fullgraph: Any = False,
        warmup: Any = None,
        recompile_limit: Any = None,
    ) -> None:
        super().__init__()
        self._orig_mod = module
        self._dynamic = dynamic
        self._fullgraph = fullgraph
        self._warmup = warmup
        self._recompile_limit = recompile_limit
        compiled = made(
            module,
            dynamic=dynamic,
            fallback=None if fullgraph else "eager",
            warmup=warmup,
            limit=RecompileLimit.of(recompile_limit, fullgraph),
        )
        # With the mode "off" it is the module again, which would be registered as a second child.
        self.forward = module.__call__ if compiled is module else compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if hooks.everywhere.around_calls():
            warnings.warn(
                "torch.compile(module) is a module of its own, so hooks on all modules (as by "
                "register_module_forward_hook) are called once more for it; module.compile() "
                "compiles without another module",
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
        options = self._dynamic, self._fullgraph, self._warmup, self._recompile_limit
        return type(self), (self._orig_mod, *options)
