"""Limiting gradients: by their common norm, or each element."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._extensions.foreach import at_once, update_all
from torchlike._ops.elementwise.pointwise import mul
from torchlike._ops.linalg.total_norm import total_norm
from torchlike.autograd.grad_mode import no_grad
from torchlike.tensor import Tensor


def _gradients(parameters: Any) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [g for g in (p._held_grad() for p in given) if g is not None]


@no_grad()
def get_total_norm(
    tensors: Any,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors together, as if they were one vector.

    RuntimeError for a norm that is infinite or NaN, with ``error_if_nonfinite``.
    """
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    order = float(norm_type)
    top: Any = NAMESPACES[""]
    if not given:
        return top["tensor"](0.0)
    if at_once(given) and all(0 not in t.shape for t in given):
        total = total_norm(given, order)
    else:
        norm = NAMESPACES["linalg"]["vector_norm"]
        total = norm(top["stack"]([norm(t, order).to(given[0].device) for t in given]), order)
    if error_if_nonfinite and not math.isfinite(
        total._value("error_if_nonfinite=True", "error_if_nonfinite=False").item()
    ):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite "
            "norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients in place so that their given norm becomes at most ``max_norm``."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    by_device: dict[Any, list[Tensor]] = {}
    for grad in _gradients(parameters):
        by_device.setdefault(grad.device, []).append(grad)
    for device, gradients in by_device.items():
        update_all(mul.spec, gradients, [factor.to(device)])


@no_grad()
def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their common norm is at most ``max_norm``.

    Args:
      parameters: a tensor or an iterable of them; those without gradient count nothing.
      max_norm: the largest norm.
      norm_type: the p of the p-norm, ``inf`` among them.
      error_if_nonfinite: whether a norm that is infinite or NaN is an error.
      foreach: accepted, without effect.

    Returns:
      the norm before, a tensor without dimensions.

    Raises:
      RuntimeError: for a norm that is not finite, with ``error_if_nonfinite``.

    Example:
      >>> w = torch.nn.Parameter(torch.ones(2))
      >>> w.grad = torch.tensor([3.0, 4.0])
      >>> torch.nn.utils.clip_grad_norm_([w], max_norm=10.0), w.grad
      (tensor(5.), tensor([3., 4.]))
    """
    given = (
        list(parameters)
        if isinstance(parameters, Iterable) and not isinstance(parameters, Tensor)
        else [parameters]
    )
    total = get_total_norm(_gradients(given), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Clip gradients in place, under the old name of ``clip_grad_norm_``."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of the gradients to ``±clip_value``, in place.

    Example:
      >>> w = torch.nn.Parameter(torch.ones(2))
      >>> w.grad = torch.tensor([3.0, -0.5])
      >>> torch.nn.utils.clip_grad_value_([w], 1.0)
      >>> w.grad
      tensor([ 1.0000, -0.5000])
    """
    bound = float(clip_value)
    for grad in _gradients(parameters):
        grad.clamp_(min=-bound, max=bound)
