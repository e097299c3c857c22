"""The warning that JAX got a tensor's value and autograd lost it.

``jnp.sin(t)``, a function of ``jax.jit`` and a Flax module take a tensor that requires grad as a
plain array: what they give has no history. Where a gradient is JAX's own business nothing is said:

- under ``no_grad``, and where the tensor holds a tracer (inside ``jax.grad``, ``jax.jit`` and kin);
- in the functions of JAX that differentiate by the tensor (``jax.grad(f)(t)``);
- of a leaf that JAX only takes apart (``jax.tree.map``, optax's ``init``), and of a Parameter: a
  training step under ``jax.jit`` takes Parameters and gets its gradients from ``jax.grad``.
"""

from __future__ import annotations

import sys
from typing import Any

from jax import core

from torchlike._core import errors, modes
from torchlike._jit.capture.refusals import is_library
from torchlike._runtime.frames import innermost, module_of
from torchlike._runtime.jax_private import frames, tracing
from torchlike.nn import Parameter
from torchlike.tensor import Tensor

WORDS = (
    "A tensor that requires grad was given to JAX as a plain array: autograd does not see what JAX "
    "computes from it, and backward() will not come back this way. Use "
    "torchlike.from_jax_function(function), which makes the JAX function an op with a gradient, or "
    "tensor.detach() where no gradient is wanted. (Said once.)"
)

_HERE = f"{__package__}."


def converted(t: Tensor, array: Any) -> None:
    """Warn where ``t`` became the array ``array`` by itself (in ``jnp.asarray(t)``, ``array + t``)
    and its gradient is cut."""
    if _is_cut(t, array) or _is_cut_parameter(t, array):
        _warn()


def taken_apart(t: Tensor, array: Any) -> None:
    """Warn where ``t`` became the leaf ``array`` of a pytree and its gradient is cut."""
    if not _is_cut(t, array):
        return
    functions = _functions_of_jax()
    if t.is_leaf:
        # A compiled function takes its arguments apart without a frame of its own.
        computes = not functions or not functions.isdisjoint(frames.MAPPING)
        if isinstance(t, Parameter) or not computes:
            return
    if not functions & frames.DIFFERENTIATING:
        _warn()


def _is_cut(t: Tensor, array: Any) -> bool:
    if not (modes.current.grad_enabled and t.requires_grad):
        return False
    if isinstance(array, core.Tracer):  # a capture's own, or one of a transformation of JAX's
        of_trace = tracing.is_of_program(array)
        return of_trace and modes.is_capturing()
    return True


def _is_cut_parameter(t: Tensor, array: Any) -> bool:
    """Return whether a compiled function of JAX's own got a Parameter from the user:
    ``jnp.sin(weight)``.

    When it takes the Parameter apart nothing tells it from the user's training step under
    ``jax.jit``. But when it is traced, no code of the user's stands between it and the placeholder,
    and no other trace is under way.
    """
    if not (isinstance(t, Parameter) and isinstance(array, core.Tracer)):
        return False
    if not (modes.current.grad_enabled and t.requires_grad):
        return False
    frame = _caller()
    while frame is not None and _is_jax(frame):
        frame = frame.f_back
    while frame is not None and not _is_jax(frame):
        frame = frame.f_back
    return frame is None


def _functions_of_jax() -> set[str]:
    """Return the Python functions of JAX that the calls between the user and this package went
    through."""
    frame, found = _caller(), set()
    while frame is not None and _is_jax(frame):
        found.add(frame.f_code.co_qualname.partition(".")[0])
        frame = frame.f_back
    return found


def _caller() -> Any:
    """Return the innermost frame that is not this package's."""
    return innermost(sys._getframe(1), lambda f: module_of(f).startswith(_HERE))


def _is_jax(frame: Any) -> bool:
    return module_of(frame).startswith("jax.")


def _warn() -> None:
    """Warn at the innermost line that is no library's."""
    frame = innermost(sys._getframe(1), lambda f: is_library(module_of(f), f.f_code.co_filename))
    errors.warn_once_at(frame, WORDS, UserWarning)
