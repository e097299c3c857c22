"""Autograd: ``backward``, ``grad``, grad modes, hooks, custom functions.

Imports `_core`, `_extensions`, `_ops`, `random` and `profiler`. Begin with ``backward.py``, which
checks what was asked, and ``engine.py``, which walks what ``_core/dispatch/record.py`` has
recorded. ``function.py`` has `Function`, ``saved.py`` what becomes of saved tensors.
"""

from torchlike.autograd import data_writes as _data_writes
from torchlike.autograd import forward_ad, functional, graph, profiler
from torchlike.autograd import node_calls as _node_calls
from torchlike.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from torchlike.autograd.backward import backward, grad
from torchlike.autograd.function import Function, FunctionCtx, once_differentiable
from torchlike.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from torchlike.autograd.gradcheck import gradcheck, gradgradcheck
from torchlike.autograd.saved import is_strict_in_place, set_strict_in_place
from torchlike.autograd.saved_tensor import SavedTensor
from torchlike.autograd.variable import Variable
from torchlike.profiler import kineto_available
from torchlike.profiler.profile import _disable_profiler as _disable_profiler
from torchlike.profiler.profile import _profiler_enabled as _profiler_enabled

__all__ = [
    "Function",
    "FunctionCtx",
    "SavedTensor",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "is_strict_in_place",
    "kineto_available",
    "no_grad",
    "once_differentiable",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "set_strict_in_place",
]
