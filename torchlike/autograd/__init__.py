"""Autograd: ``backward``, ``grad``, grad modes, hooks, custom functions.

Imports `_core`, `_extensions` and `_ops`. Begin with ``engine.py``, which walks what
``_core/dispatch/record.py`` has recorded.
"""

import importlib as _importlib

from torchlike.autograd import data_writes as _data_writes
from torchlike.autograd import forward_ad, functional, graph
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


def __getattr__(name: str):
    if name == "profiler":  # the profiler's room stands above this one
        return _importlib.import_module("torchlike.autograd.profiler")
    raise AttributeError(f"module 'torchlike.autograd' has no attribute {name!r}", name=name)


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
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "set_strict_in_place",
]
