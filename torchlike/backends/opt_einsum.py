"""``torch.backends.opt_einsum``: in which order ``einsum`` of many tensors multiplies. It asks the
package opt_einsum, and the flags are kept without effect on that."""

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any

import opt_einsum as _opt_einsum

from torchlike.backends import frozen

__all__ = ["enabled", "flags", "get_opt_einsum", "is_available", "strategy"]

enabled = True
strategy: Any = "auto"


def is_available() -> bool:
    """Return True: JAX brings it."""
    return True


def get_opt_einsum() -> types.ModuleType:
    """Return the package opt_einsum."""
    return _opt_einsum


def flags(enabled: Any = None, strategy: Any = None) -> contextlib.AbstractContextManager[None]:
    """Have the flags at these values in a ``with`` block; None leaves one as it is."""
    given = {"enabled": enabled, "strategy": strategy}
    return frozen.region(globals(), {k: v for k, v in given.items() if v is not None})


_FLAGS = {"enabled", "strategy"}
sys.modules[__name__].__class__ = frozen.FlagModule
