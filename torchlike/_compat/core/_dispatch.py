"""The dispatch keys of ``torch._C``, by which libraries register kernels, and regions without."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import Enum

from torchlike._core import overrides
from torchlike.amp import autocast
from torchlike.library.registration import OPERATORS as _OPERATORS

__all__ = ["DispatchKey", "DispatchKeySet"]

DispatchKey = Enum(
    "DispatchKey",
    [
        "Undefined",
        "CPU",
        "CUDA",
        "XPU",
        "MPS",
        "Meta",
        "AutocastCPU",
        "AutocastCUDA",
        "AutocastXPU",
        "AutogradCPU",
        "AutogradCUDA",
        "AutogradXPU",
        "AutogradMeta",
        "Autograd",
        "ADInplaceOrView",
        "Functionalize",
        "FuncTorchBatched",
        "CompositeExplicitAutograd",
        "CompositeImplicitAutograd",
    ],
)


#: Which key a kernel for a type of device is registered by.
_KEYS_OF = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "xpu": "XPU",
    "mps": "MPS",
    "meta": "Meta",
    "default": "CompositeExplicitAutograd",
}


def _dispatch_dump(name: str) -> str:
    """Describe what is registered for an operator of ``torch.library``: its name, its schema and a
    line for each dispatch key that has a kernel. Empty for an unknown one."""
    operator = _OPERATORS.get(name)
    if operator is None:
        return ""
    kernels = [f"{_KEYS_OF.get(k, k)}: registered" for k in operator.kernels]
    return "\n".join([f"name: {name}", f"schema: {operator.schema}", *kernels]) + "\n"


class DispatchKeySet:
    """A set of dispatch keys."""

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def has(self, key: DispatchKey) -> bool:
        """Return whether the key is in the set."""
        return key in self._keys

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(k.name for k in self._keys))})"


@contextlib.contextmanager
def _AutoDispatchBelowAutograd() -> Iterator[None]:
    """Pass over operators' kernels for the key Autograd in a ``with`` block."""
    previous = overrides.state.below_autograd
    overrides.state.below_autograd = True
    try:
        yield
    finally:
        overrides.state.below_autograd = previous


@contextlib.contextmanager
def _ExcludeDispatchKeyGuard(keys: DispatchKeySet) -> Iterator[None]:
    """Switch autocast for the devices named, and kernels for the keys Autograd, off in a ``with``
    block. NotImplementedError for other keys."""
    with contextlib.ExitStack() as stack:
        for key in keys._keys:
            if key.name.startswith("Autograd"):
                stack.enter_context(_AutoDispatchBelowAutograd())
                continue
            if not key.name.startswith("Autocast"):
                raise NotImplementedError(
                    f"torch._C._ExcludeDispatchKeyGuard: {key.name}; only the keys of autocast and "
                    "autograd"
                )
            device = key.name.removeprefix("Autocast").lower()
            stack.enter_context(autocast(device, enabled=False))
        yield
