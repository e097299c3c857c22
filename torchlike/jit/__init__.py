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

import sys
import types
from typing import Any

# Where `from __future__ import annotations` has left a name, `torch.jit.annotations` is a module.
import torchlike.jit.annotations as annotations
from torchlike._core.errors import JitCaptureError
from torchlike._jit.buckets import bucket_of, pad_to_bucket
from torchlike._jit.control_flow.layers import scan_layers
from torchlike._jit.entry import jit, set_fallback, set_mode, set_warmup
from torchlike._jit.explain import Entry, Explanation, explain
from torchlike._jit.function import JitFunction
from torchlike._jit.markers import (
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
from torchlike._stablehlo.script_errors import Error
from torchlike._stablehlo.torchscript import *  # noqa: F403
from torchlike._stablehlo.tracing import *  # noqa: F403
from torchlike._stablehlo.type_tests import isinstance
from torchlike.futures import Future

script_method = export
_script_if_tracing = script_if_tracing  # PyTorch's own name, which torchvision uses


class _CallableModule(types.ModuleType):
    """Lets ``torchlike.jit(fn)`` and ``import torchlike.jit`` be the same object."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return jit(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule

__all__ = [
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
