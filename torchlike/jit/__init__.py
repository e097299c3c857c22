"""``torchlike.jit``: compile a whole training step into one XLA executable.

The module itself is callable::

    @torchlike.jit
    def step(x, y):
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        opt.step()
        return loss

Parameters, buffers, gradients, optimizer state, learning rates and the random generator are found
by themselves and become inputs and outputs of the program; the Python body runs once per compile.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from torchlike.errors import JitCaptureError
from torchlike.jit.explain import Entry, Explanation, explain
from torchlike.jit.function import JitFunction
from torchlike.jit.markers import (
    Final,
    annotate,
    export,
    ignore,
    is_scripting,
    is_tracing,
    script_if_tracing,
    unused,
)

_mode = "on"


def set_mode(mode: str) -> None:
    """ "on" compiles (the default); "off" makes ``jit`` and ``compile`` give functions back as they
    are. ValueError for anything else."""
    global _mode
    if mode not in ("on", "off"):
        raise ValueError(f"mode must be 'on' or 'off', not {mode!r}")
    _mode = mode


def jit(fn: Callable[..., Any] | None = None, *, max_programs: int = 64) -> Any:
    """Compile a function, method or module; also a decorator, with or without arguments.

    A new shape, dtype, grad mode, training flag or static argument compiles again, and so does a
    change of any plain Python value that the function read (a global, a closure variable, an
    attribute, an element of a list; in functions it calls too). The same signature never does.
    ``max_programs`` are kept; of more, the one unused for longest goes.

    A function that changes a plain Python value, reads a clock or draws from Python's or NumPy's
    random is right at every call, because it is compiled at every call; the third warns.

    Differs from eager execution: ``print`` and other output run once per compilation; what a file
    or a socket gave is frozen; an exception leaves Python values, too, as they were before; lists
    and dictionaries among the arguments are copies, and changing one raises JitCaptureError.

    Raises:
      JitCaptureError: when a value is needed in Python while the graph is captured (``.item()``,
        ``if tensor:``); the message names the line and what to write instead.
    """
    if fn is None:
        return functools.partial(jit, max_programs=max_programs)
    if not callable(fn):
        raise TypeError(f"jit expects a function or module, not {type(fn).__name__}")
    return fn if _mode == "off" or isinstance(fn, JitFunction) else JitFunction(
        fn, max_programs=max_programs)  # fmt: skip


class _CallableModule(types.ModuleType):
    """Lets ``torchlike.jit(fn)`` and ``import torchlike.jit`` be the same object."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return jit(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule

__all__ = ["Entry", "Explanation", "JitCaptureError", "JitFunction", "explain", "jit", "set_mode"]
