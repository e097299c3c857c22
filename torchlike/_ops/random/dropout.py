"""Dropout and its relatives: a noise tensor by PyTorch's CPU stream, and a product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, errors, views
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, Operand, Scalar, require_tensor
from torchlike._extensions import boxes
from torchlike._ops.memory_order import strides_like
from torchlike._ops.random.sampling import draw, source_of
from torchlike._runtime import first_calls
from torchlike._runtime.inlining import AT_ONCE
from torchlike.random import dropout as noise
from torchlike.random.bernoulli import bernoulli_mask
from torchlike.tensor import Tensor, wrap


@op(
    "apply_noise",
    namespaces=(),
    method=False,
    inplace=True,
    elementwise=True,
    needs={"input": ["noise"]},
    grad_name="MulBackward0",
)
def apply_noise(input: Input, noise: Operand):
    """Compute ``input * noise``, multiplied in the wider of the two dtypes."""
    return (input * noise).astype(input.dtype)


@op(
    "apply_mask",
    namespaces=(),
    method=False,
    inplace=True,
    elementwise=True,
    needs={"input": ["kept", "scale"]},
    grad_name="MulBackward0",
)
def apply_mask(input: Input, kept: Input, scale: Scalar):
    """Compute ``input`` times ``scale`` where ``kept``, times 0 elsewhere.

    Dropout in one operation, which saves a bool for each element.
    """
    return input * jnp.where(kept, jnp.asarray(scale, input.dtype), jnp.zeros((), input.dtype))


def check_probability(p: float) -> None:
    """Refuse a probability outside [0, 1] with a ValueError in PyTorch's words."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def check_floating(input: Tensor, result: dtypes.dtype) -> None:
    """Refuse, with RuntimeError, integers and bools, which cannot hold the scaled elements."""
    if input.dtype.category < 2:
        raise RuntimeError(
            f"result type {dtypes.scalar_type(dtypes.get_default_dtype())} can't be cast to the "
            f"desired output type {dtypes.scalar_type(result)}"
        )


def _like(
    input: Tensor, made: Callable[[Any, tuple[int, ...]], np.ndarray], width: int | None
) -> Any:
    """Draw an array of the input's shape, in the order of its memory.

    PyTorch fills ``empty_like(input)``, so a transposed input has its noise along its memory; but
    the kernel of CUDA whose threads read one element at once goes by indices.
    """
    size, stride, _ = input._geometry
    if width != 1 and not views.is_contiguous(size, stride):
        order = views.dense_order(size, strides_like(input._geometry))
        if order != tuple(range(len(size))):
            inner, back = tuple(size[d] for d in order), tuple(np.argsort(order).tolist())
            return draw(None, lambda e: _transposed(made(e, inner), back), input)
    return draw(None, lambda e: made(e, size), input)


def _transposed(noise: Any, order: tuple[int, ...]) -> Any:
    """Transpose an array of NumPy's, or what a compiled form takes."""
    if isinstance(noise, np.ndarray):
        return np.ascontiguousarray(noise.transpose(order))
    return boxes.apply(views.reader((views.step(views.Permute, order),)), noise)


def _mask(input: Tensor, p: float, shape: tuple[int, ...] | None, width: int | None = None) -> Any:
    """Draw a mask of bools, True where an element is kept; of ``shape``, or like ``input``.
    ``width`` is that of `bernoulli_mask`."""
    kind = input.dtype.numpy
    if shape is None:
        return _like(input, lambda e, size: noise.dropout_mask(e, size, p, kind, width), width)
    return draw(None, lambda e: noise.dropout_mask(e, shape, p, kind), input)


def _width(input: Tensor) -> int | None:
    """Return how many neighbouring elements a thread of PyTorch's dropout on CUDA reads at once: 16
    bytes, or the half of it and so on where the tensor's size or place in memory needs that. None
    where the numbers are the CPU's."""
    if not source_of(None, input).is_of_gpu:
        return None
    width, n = 16 // input.dtype.itemsize, input.numel()
    if not views.is_dense(input._geometry):
        return 1
    while width > 1 and (n % width or input._geometry.offset % width):
        width //= 2
    return width


def keep_mask(input: Tensor, p: float) -> np.ndarray:
    """Draw a mask of bools like ``input``, True with probability 1 - p; drawn also where p is 0 or
    1."""
    kind, width = input.dtype.numpy, _width(input)
    return _like(input, lambda e, size: bernoulli_mask(e, size, 1 - p, kind, width), width)


#: Eager code calls it for each mask: uncompiled at first, as operations are.
_where = first_calls.jit(jnp.where, name="where", inline=AT_ONCE)


def _drop(input: Tensor, p: float, shape: tuple[int, ...] | None, inplace: Any) -> Tensor:
    check_probability(p)
    if p == 0.0 or input.numel() == 0:
        return input
    if p < 1.0:
        check_floating(input, input.dtype)
    if p == 1.0 or input.is_meta:
        return apply_noise.spec.in_place(input, 0.0) if inplace else apply_noise(input, 0.0)
    width = _width(input) if shape is None and not inplace else None
    mask = _mask(input, p, shape, width)
    if width is not None and dtypes.is_half(input.dtype.numpy):  # CUDA's kernel scales in float32
        scale = np.float32(noise.dropout_scale(np.dtype(np.float32), p))
        return apply_noise(input, wrap(boxes.apply(_where, mask, scale, np.float32(0))))
    kept, scale = wrap(mask), noise.dropout_scale(input.dtype.numpy, p)
    run = apply_mask.spec.in_place if inplace else apply_mask
    return run(input, kept, scale)


def _feature_shape(input: Tensor) -> tuple[int, ...]:
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *(1,) * (input.dim() - 2))


@composite(namespaces=("nn.functional",), method=False, python_signature=True)
def dropout(input: Tensor, p: float = 0.5, training: Any = True, inplace: Any = False) -> Tensor:
    """Zero elements with probability p and scale the rest by ``1 / (1 - p)``, when training.

    ValueError for p outside [0, 1].

    Example:
      >>> torch.nn.functional.dropout(torch.ones(3), p=0.5, training=False)
      tensor([1., 1., 1.])
    """
    require_tensor(input, "dropout")
    check_probability(p)
    return _drop(input, p, None, inplace) if training else input


def _at_top(name: str, drop: Callable[..., Tensor], said: str) -> None:
    """Register ``torch.<name>`` and its in-place twin, with arguments of their own."""

    def function(input: Tensor, p: float, train: Any) -> Tensor:
        return drop(input, p, train, False)

    def in_place(input: Tensor, p: float, train: Any) -> Tensor:
        return drop(input, p, train, True)

    function.__doc__ = f"{said}, if ``train``."
    in_place.__doc__ = f"{said}, if ``train``, in place."
    composite(name, method=False, tags="maybe_aliasing_or_mutating")(function)
    composite(f"{name}_", method=False)(in_place)


_at_top("dropout", dropout, "Zero elements with probability p and scale the rest")


def _check_spatial(input: Tensor, n: int) -> None:
    """Refuse or warn of, in PyTorch's words, a tensor without ``n`` spatial dimensions."""
    name, ndim, plural = f"dropout{n}d", input.dim(), "" if n == 1 else "s"
    if ndim in (n + 1, n + 2) and (n, ndim) != (2, 3):
        return
    if (n, ndim) == (2, 3):
        errors.warn_user(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            UserWarning,
        )
        return
    meant = (
        f"Note that {name} exists to provide channel-wise dropout on inputs with {n} spatial "
        f"dimension{plural}, a channel dimension, and an optional batch dimension (i.e. {n + 1}D "
        f"or {n + 2}D inputs)."
    )
    if n == 1:
        raise RuntimeError(
            f"{name}: Expected 2D or 3D input, but received a {ndim}D input. {meant}"
        )
    errors.warn_user(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. {meant}",
        UserWarning,
    )


def _feature_dropout(n: int) -> None:
    name = f"dropout{n}d"

    def function(
        input: Tensor, p: float = 0.5, training: Any = True, inplace: Any = False
    ) -> Tensor:
        check_probability(p)
        _check_spatial(input, n)
        if not training:
            return input
        lifted = (n, input.dim()) in ((1, 2), (3, 4))
        x = input.unsqueeze(0) if lifted else input
        result = _drop(x, p, _feature_shape(x), inplace)
        if lifted:
            return input if inplace else result.squeeze(0)
        return result

    function.__doc__ = f"Zero whole channels with probability p, when training ({name})."
    composite(name, namespaces=("nn.functional",), method=False, python_signature=True)(function)


for _n in (1, 2, 3):
    _feature_dropout(_n)
_at_top(
    "feature_dropout",
    lambda input, p, train, inplace: (
        _drop(input, p, _feature_shape(input), inplace) if train else input
    ),
    "Apply dropout to whole channels",
)


@jax.custom_jvp
def _rounded_product(x: Any, noise: Any) -> jax.Array:
    """Compute ``x * noise``, rounded also where a sum follows: LLVM would contract the two to one
    fma, but not through a select, which changes nothing here."""
    product = x * noise
    return jnp.where(product == product, product, jnp.nan)


@_rounded_product.defjvp
def _rounded_product_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    x, noise = primals
    return _rounded_product(x, noise), tangents[0] * noise


@op(
    "apply_alpha_noise",
    namespaces=(),
    method=False,
    inplace=True,
    elementwise=True,
    needs={"input": ["noise"]},
    grad_name="AddBackward0",
)
def apply_alpha_noise(input: Input, noise: Input, shift: Input):
    """Compute ``input * noise + shift``, the product rounded on its own."""
    return _rounded_product(input, noise) + shift


def _alpha_drop(input: Tensor, p: float, shape: tuple[int, ...] | None, inplace: Any) -> Tensor:
    """Apply dropout that keeps mean and variance of self-normalising networks."""
    check_probability(p)
    if p == 0.0 or input.numel() == 0:
        return input
    if p == 1.0:
        return apply_noise.spec.in_place(input, 0.0) if inplace else apply_noise(input, 0.0)
    if input.is_meta:
        return input if inplace else apply_noise(input, 1.0)
    check_floating(input, dtypes.int64 if input.dtype is dtypes.bool else input.dtype)
    kept, dropped = noise.alpha_values(input.dtype.numpy, p)
    mask = _mask(input, p, shape)
    factor = wrap(boxes.apply(_where, mask, kept.noise, dropped.noise))
    shift = wrap(boxes.apply(_where, mask, kept.shift, dropped.shift))
    run = apply_alpha_noise.spec.in_place if inplace else apply_alpha_noise
    return run(input, factor, shift)


@composite(namespaces=("nn.functional",), method=False, python_signature=True, pointwise=True)
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: Any = False, inplace: Any = False
) -> Tensor:
    """Apply alpha dropout, when training. ValueError for p outside [0, 1]."""
    require_tensor(input, "alpha_dropout")
    check_probability(p)
    return _alpha_drop(input, p, None, inplace) if training else input


@composite(namespaces=("nn.functional",), method=False, python_signature=True, pointwise=True)
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: Any = False, inplace: Any = False
) -> Tensor:
    """Apply alpha dropout to whole channels, when training."""
    require_tensor(input, "feature_alpha_dropout")
    check_probability(p)
    return _alpha_drop(input, p, _feature_shape(input), inplace) if training else input


_at_top("alpha_dropout", alpha_dropout, "Apply alpha dropout")
_at_top("feature_alpha_dropout", feature_alpha_dropout, "Apply alpha dropout to whole channels")
