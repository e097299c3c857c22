"""``torchlike.jit``: compile a whole training step into one XLA executable.

Imports `_jit`, where the compiler is, and `serialization`. Begin with the decorator itself,
``_decorator.py``, and with ``_optimized_module.py``, what it makes of modules. Beside it stand
``_script.py`` and ``_trace.py`` (TorchScript's names), ``_scan_layers.py``, ``_explain.py``,
``_buckets.py``, ``_markers.py``.

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

import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

# Where `from __future__ import annotations` has left a name, `torch.jit.annotations` is a module.
import torchlike.jit.annotations as annotations
from torchlike._core.errors import JitCaptureError
from torchlike._jit.call.captured_program import CapturedProgram, Entry
from torchlike._jit.call.entry import set_fallback, set_mode, set_warmup
from torchlike._jit.call.function import JitFunction
from torchlike.futures import Future
from torchlike.jit._buckets import bucket_of, pad_to_bucket
from torchlike.jit._decorator import jit
from torchlike.jit._explain import Explanation, explain
from torchlike.jit._markers import (
    Final,
    _overload,
    _overload_method,
    annotate,
    export,
    ignore,
    is_scripting,
    is_tracing,
    script_if_tracing,
    unused,
)
from torchlike.jit._optimized_module import JitModule
from torchlike.jit._scan_layers import scan_layers
from torchlike.jit._script import *  # noqa: F403  # noqa: F403
from torchlike.jit._script_errors import Error
from torchlike.jit._trace import *  # noqa: F403
from torchlike.jit._type_tests import isinstance
from torchlike.nn import Module

script_method = export
_script_if_tracing = script_if_tracing  # PyTorch's own name, which torchvision uses


_F = TypeVar("_F", bound=Callable[..., Any])


class _CallableModule(types.ModuleType):
    """Lets ``torchlike.jit(fn)`` and ``import torchlike.jit`` be the same object."""

    @overload
    def __call__(self, fn: Module, /, **options: Any) -> JitModule: ...
    @overload
    def __call__(self, fn: _F, /, **options: Any) -> _F: ...
    @overload
    def __call__(self, /, **options: Any) -> Callable[[_F], _F]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return jit(*args, **kwargs)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


sys.modules[__name__].__class__ = _CallableModule

__all__ = [
    "CapturedProgram",
    "Entry",
    "Error",
    "Explanation",
    "JitCaptureError",
    "JitFunction",
    "bucket_of",
    "explain",
    "jit",
    "pad_to_bucket",
    "scan_layers",
    "set_fallback",
    "set_mode",
    "set_warmup",
]
