"""Autograd: ``backward``, ``grad``, grad modes, custom functions."""

from torchlike.autograd.backward import backward, grad
from torchlike.autograd.function import Function, FunctionCtx, once_differentiable
from torchlike.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from torchlike.tensor import Tensor as Variable

__all__ = [
    "Function",
    "FunctionCtx",
    "Variable",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "set_grad_enabled",
]
