"""Softmax and its kin, normalisation to unit length, similarities, one-hot codes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.argument_names import with_synonyms
from torchlike._core.dispatch.registry import composite, declare_in_python, export, op
from torchlike._core.dispatch.schema import (
    Bool,
    ComputedFloat,
    Dims,
    DType,
    Float,
    Input,
    Int,
    require_tensor,
)
from torchlike._core.dispatch.spec import declare_autocast
from torchlike._ops.checks import floats_only, scalar_type_of
from torchlike._ops.elementwise import division
from torchlike._ops.memory_order import of_loop
from torchlike._ops.promotion import in_float32, promoted, promoted_float, widened
from torchlike._ops.reduce.reduction import axes, vector_norm
from torchlike._ops.value_checks import refuse_where, values_of
from torchlike.tensor import Tensor, add_method

_F = ("nn.functional",)


# -- softmax ---------------------------------------------------------------------------------------


def _prepared(input: Any, dim: int, dtype: Any, kernel: str) -> tuple[Any, int]:
    x = input if dtype is None else input.astype(dtype)
    d = errors.wrap_dim(dim, x.ndim)
    floats_only(x, f"{kernel}_lastdim_kernel_impl" if d == x.ndim - 1 else f"{kernel}_kernel_impl")
    return (x if x.ndim else x.reshape(1)), d


def _softmax_rule(cotangent: Any, out: Any, dim: int, dtype: Any) -> jax.Array:
    y, g = widened(out), widened(cotangent)
    d = errors.wrap_dim(dim, y.ndim)
    inner = jnp.sum(y * g, d, keepdims=True) if y.ndim else y * g
    return (y * (g - inner)).astype(out.dtype)


def _log_softmax_rule(cotangent: Any, out: Any, dim: int, dtype: Any) -> jax.Array:
    y, g = widened(out), widened(cotangent)
    d = errors.wrap_dim(dim, y.ndim)
    total = jnp.sum(g, d, keepdims=True) if y.ndim else g
    return (g - jnp.exp(y) * total).astype(out.dtype)


@op(
    "softmax_op",
    namespaces=(),
    method=False,
    from_output=_softmax_rule,
    grad_name="SoftmaxBackward0",
    autocast={"cuda": "float32", "xla": "float32"},
)
def softmax_op(input: Input, dim: Int, dtype: DType = None):
    """Return ``exp(input) / sum(exp(input))`` along ``dim``; the input already has its dtype."""
    x, d = _prepared(input, dim, dtype, "softmax")
    return jax.nn.softmax(widened(x), d).astype(x.dtype).reshape(input.shape)


@op(
    "log_softmax_op",
    namespaces=(),
    method=False,
    from_output=_log_softmax_rule,
    grad_name="LogSoftmaxBackward0",
    autocast={"cuda": "float32", "xla": "float32"},
)
def log_softmax_op(input: Input, dim: Int, dtype: DType = None):
    """Return ``log(softmax(input))`` along ``dim``, without overflow."""
    x, d = _prepared(input, dim, dtype, "log_softmax")
    return jax.nn.log_softmax(widened(x), d).astype(x.dtype).reshape(input.shape)


def _implicit_dim(name: str, ndim: int) -> int:
    errors.warn_user(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        UserWarning,
    )
    return 0 if ndim in (0, 1, 3) else 1


def _cast(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None or input.dtype is dtype else input.to(dtype)


def _family(
    name: str, function: Any, text: str, *, toplevel: Any = True, autocast: Any = None
) -> None:
    """Register ``torchlike.name(input, dim, dtype)``, the method, and the ``nn.functional`` form,
    which may leave ``dim`` out (with a warning)."""

    def plain(input: Tensor, dim: int, dtype: Any = None, *, out: Any = None) -> Tensor:
        if dtype is not None:
            input = _cast(input, dtype)
        return function(input, dim) if out is None else function(input, dim, out=out)

    def functional(
        input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
    ) -> Tensor:
        if dim is None:
            dim = _implicit_dim(name, input.dim())  # whatever `_stacklevel`: at the user's line
        return function(_cast(input, dtype), dim)

    declare_autocast(name, autocast)
    for made in (plain, functional):
        made.__name__ = made.__qualname__ = name
        made.__doc__ = text
    if toplevel:
        plain = with_synonyms(plain)
        export(plain, name, ("",))
        add_method(name, plain)
    declare_in_python(_F[0], name, functional)
    export(with_synonyms(functional), name, _F)


_family(
    "softmax",
    softmax_op,
    """Return ``exp(input) / sum(exp(input))`` along ``dim``; ``dtype`` casts first. IndexError for
    a dim out of range, NotImplementedError for integers without ``dtype``.

    Example:
      >>> torch.softmax(torch.zeros(2, 4), dim=-1).sum(-1)
      tensor([1., 1.])
    """,
)
_family("log_softmax", log_softmax_op, "Return ``log(softmax(input, dim))``, without overflow.")
_family(
    "softmin",
    lambda x, dim: softmax_op(-x, dim),
    "Return ``softmax(-input, dim)``.",
    toplevel=False,
    autocast={"cuda": "float32"},
)


# -- lengths and similarities ----------------------------------------------------------------------


@op(
    "normalize_op",
    casts_out=True,
    namespaces=(),
    method=False,
    memory_order=of_loop,
    grad_name="DivBackward0",
)
def normalize_op(input: Input, p: Float, dim: Dims, eps: Float):
    """Return ``input / max(norm(input), eps)``."""

    def unit(x: Any) -> jax.Array:
        norm = vector_norm(x, p, axes(dim, x.ndim), True)
        return division.divide(x, jnp.where(norm < eps, eps, norm).astype(x.dtype))

    return in_float32(unit)(input)


@composite(namespaces=_F, method=False, python_signature=True)
def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Tensor:
    """Divide vectors along ``dim`` by their p-norm (at least ``eps``).

    Differs from PyTorch: a float16 vector of zeros gives zeros. There ``eps`` is rounded to 0 and
    the result is NaN.

    Example:
      >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]])).norm().item() == 1
      True
    """
    require_tensor(input, "normalize")
    return normalize_op(input, p, dim, eps, out=out)


@op(namespaces=("", *_F), method=False, autocast={"cuda": "float32"}, one_object=True)
def cosine_similarity(x1: Input, x2: Input, dim: Int = 1, eps: ComputedFloat = 1e-08):
    """Return ``x1 · x2 / (max(|x1|, eps) max(|x2|, eps))`` along ``dim``, broadcast."""
    if not eps >= 0:  # NaN, too
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    a, b = promoted(x1, x2)
    if dtypes.kind_of(a.dtype) not in "fc":
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {scalar_type_of(a)}"
        )
    a, b = jnp.broadcast_arrays(a, b)
    over = (errors.wrap_dim(dim, a.ndim),) if a.ndim else ()

    def unit(x: Any) -> jax.Array:
        norm = vector_norm(x, 2, over, True)
        # Raised to eps in value only: the gradient is that of the length itself, as in PyTorch.
        return x / (norm + lax.stop_gradient(jnp.where(norm < eps, eps - norm, 0)))

    return in_float32(lambda a, b: jnp.sum(unit(a) * unit(b), over))(a, b)


@op(namespaces=("", *_F), method=False, one_object=True)
def pairwise_distance(
    x1: Input, x2: Input, p: Float = 2.0, eps: Float = 1e-06, keepdim: Bool = False
):
    """Return the p-norm of ``x1 - x2 + eps`` along the last dimension, broadcast."""
    a, b = promoted_float(x1, x2)
    difference = a - b + eps
    over = (difference.ndim - 1,) if difference.ndim else ()
    return in_float32(lambda x: vector_norm(x, p, over, keepdim))(difference)


# -- one-hot ---------------------------------------------------------------------------------------


@composite(namespaces=_F, method=False, other_names={"input": "tensor"})
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return int64 codes: 1 at each class, 0 elsewhere, in a new last dimension.

    RuntimeError unless ``tensor`` is int64 and its values lie in ``[0, num_classes)`` (checked
    when not capturing; out of range gives a row of zeros inside jit). ``num_classes=-1`` asks for
    the largest value and so cannot be used inside jit.

    Example:
      >>> torch.nn.functional.one_hot(torch.tensor([0, 2]), num_classes=3)
      tensor([[1, 0, 0],
              [0, 0, 1]])
    """
    require_tensor(tensor, "one_hot", "tensor")
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1:
        if tensor.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        values = tensor._value("one_hot(…) without num_classes", "pass num_classes")
        _check_classes(values, None)
        num_classes = int(values.max()) + 1
    return _one_hot_op(tensor, num_classes)


def _check_classes(values: Any, num_classes: int | None) -> None:
    values = values_of(values)
    refuse_where(values < 0, RuntimeError, "Class values must be non-negative.")
    if num_classes is not None:
        words = "Class values must be smaller than num_classes."
        refuse_where(values >= num_classes, RuntimeError, words)


@op("one_hot_op", namespaces=(), method=False, differentiable=False, check=_check_classes)
def _one_hot_op(input: Input, num_classes: Int):
    """Return ``input[..., None] == arange(num_classes)`` as int64."""
    classes = jnp.arange(num_classes, dtype=np.int64)
    return (input[..., None] == classes).astype(np.int64)
