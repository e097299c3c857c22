"""Activations. Each is one op; ``nn.functional`` gets it with PyTorch's ``inplace`` argument.

Parameters (slopes, thresholds) are static: they hardly ever change, and XLA folds them. Derivatives
at kinks are PyTorch's, which ``jnp.where`` on the right comparison gives.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import errors
from torchlike._core.dispatch.argument_names import with_synonyms
from torchlike._core.dispatch.registry import (
    NAMESPACES,
    OPS,
    composite,
    declare_in_python,
    export,
    op,
)
from torchlike._core.dispatch.schema import (
    ComputedFloat,
    ComputedNumber,
    Float,
    Input,
    Int,
    NumberLimit,
    OwnFloat,
    OwnNumber,
    Str,
)
from torchlike._ops.checks import floats_only, real_only, scalar_type_of
from torchlike._ops.memory_order import like_first, of_loop
from torchlike._ops.promotion import in_float32
from torchlike._runtime.reference import error_of, follows
from torchlike.tensor import Tensor

_F = ("nn.functional",)
_CLAMPS = "clamp is not supported for complex types"


def _functional(
    name: str,
    function: Callable[..., Any],
    check: Callable[..., None] | None = None,
    *,
    one_object: bool = False,
) -> None:
    """Export ``nn.functional.name(…, inplace=False)``, which calls ``check`` first, and
    ``nn.functional.name_``, which does not, and may be the same object as ``torch.name_``."""
    spec = OPS[name]
    twin, arity = spec.in_place, spec.schema.arity

    def activation(*args: Any, inplace: Any = False, **kwargs: Any) -> Tensor:
        if len(args) > arity:
            args, inplace = args[:arity], args[arity]
        if check is not None:
            check(*args, **kwargs)
        return twin(*args, **kwargs) if inplace else function(*args, **kwargs)

    activation.__name__ = activation.__qualname__ = name
    activation.__doc__ = spec.fn.__doc__
    activation.__module__ = "torchlike.nn.functional"
    own = inspect.signature(spec.fn).parameters.values()
    activation.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*own, inspect.Parameter("inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False)]
    )
    declare_in_python("nn.functional", name, activation)
    export(with_synonyms(activation), name, _F)
    export(twin, f"{name}_", _F, one_object=one_object)


# -- rectifiers ------------------------------------------------------------------------------------


def _no_bools(x: Any, message: str) -> None:
    if x.dtype == np.bool_:
        raise error_of(NotImplementedError)(message)


@op(
    inplace=True,
    elementwise=True,
    from_output=lambda g, out: jnp.where(out <= 0, 0, g),
    autocast={"xla": "low"},
    zero_at_zero=True,
)
@real_only(_CLAMPS)
def relu(input: Input):
    """Return ``max(input, 0)``. RuntimeError for bool tensors.

    Example:
      >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
      tensor([0., 2.])
    """
    _no_bools(input, "Boolean inputs not supported for relu")
    return jnp.maximum(input, jnp.zeros((), input.dtype))


def _between(x: Any, low: Any, high: Any) -> jax.Array:
    """Clamp with a derivative of 0 at the ends themselves, as PyTorch's hardtanh."""
    low, high = _end(x, low), _end(x, high)
    return jnp.where(x <= low, low, jnp.where(x >= high, high, x))


def _end(x: Any, value: Any) -> jax.Array:
    """Return a limit as an array; where ``x`` is itself zero at a limit of zero, that zero: -0.0
    stays."""
    end = jnp.asarray(value).astype(x.dtype)
    return end if value else jnp.where(x == end, lax.stop_gradient(x), end)


@op(namespaces=(), method=False, inplace=True, elementwise=True, grad_name="HardtanhBackward0")
@real_only(_CLAMPS)
def relu6(input: Input):
    """Return ``min(max(input, 0), 6)``."""
    _no_bools(input, "Bool inputs not supported for hardtanh")
    return _between(input, 0, 6)


@op(
    namespaces=(),
    method=False,
    inplace=True,
    elementwise=True,
    decomposition=lambda aten, x, low=-1, high=1: aten.clamp.default(x, low, high),
)
@real_only(_CLAMPS)
def hardtanh(input: Input, min_val: NumberLimit = -1.0, max_val: NumberLimit = 1.0):
    """Return ``input`` limited to ``[min_val, max_val]``. ValueError when min_val > max_val; in
    place all is ``max_val`` then."""
    _no_bools(input, "Bool inputs not supported for hardtanh")
    if input.dtype.kind == "u" and (min_val.value < 0 or max_val.value < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if min_val.value != min_val.value or max_val.value != max_val.value:
        outside = (input <= min_val.value) | (input >= max_val.value)  # with a gradient of 0
        return jnp.where(outside, lax.stop_gradient(input), input) + jnp.nan
    return _between(input, min(min_val.value, max_val.value), max_val.value)


def _check_limits(input: Any, min_val: Any = -1.0, max_val: Any = 1.0) -> None:
    """Refuse, with ValueError, limits of `hardtanh` in another order."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")


def _leaky_relu_in_parts(aten: Any, input: Any, negative_slope: Any = 0.01) -> Any:
    positive = aten.gt.Scalar(input, 0)
    return aten.where.self(positive, input, aten.mul.Tensor(input, negative_slope))


@op(namespaces=(), method=False, inplace=True, elementwise=True, decomposition=_leaky_relu_in_parts)
def leaky_relu(input: Input, negative_slope: ComputedFloat = 0.01):
    """Return ``input`` where positive, else ``negative_slope * input``."""
    floats_only(input, "leaky_relu_cpu")
    # A choice between two products would multiply a gradient of 0 by a slope without end.
    return in_float32(lambda x: x * jnp.where(x > 0, np.ones((), x.dtype), negative_slope))(input)


@jax.custom_jvp
def _expm1(x: Any) -> jax.Array:
    """Return ``exp(x) - 1``, with its derivative by another exponential: JAX adds 1 to the value,
    which for -20 in float32 leaves 0."""
    return jnp.expm1(x)


@_expm1.defjvp
def _expm1_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    return jnp.expm1(x), jnp.exp(x) * t


def _elu(x: Any, alpha: float, scale: float, input_scale: float) -> jax.Array:
    """Return ``scale * (x if x > 0 else alpha * (exp(input_scale * x) - 1))``.

    exp sees no positive number, so that its overflow cannot spoil the gradient.
    """
    floats_only(x, "elu_cpu")

    def unit(x: Any) -> jax.Array:
        low = x <= 0
        negative = jnp.where(low, x, 0)
        return jnp.where(low, scale * alpha * _expm1(input_scale * negative), scale * x)

    return in_float32(unit)(x)


def _elu_in_parts(aten: Any, x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    inner = x if input_scale == 1 else aten.mul.Tensor(x, input_scale)
    below = aten.mul.Tensor(aten.expm1.default(inner), alpha * scale)
    above = x if scale == 1 else aten.mul.Tensor(x, scale)
    return aten.where.self(aten.gt.Scalar(x, 0), above, below)


@op(namespaces=(), method=False, inplace=True, elementwise=True, decomposition=_elu_in_parts)
def elu(input: Input, alpha: ComputedFloat = 1.0):
    """Return ``input`` where positive, else ``alpha * (exp(input) - 1)``."""
    return _elu(input, alpha, 1.0, 1.0)


@op(method=False, inplace=True, elementwise=True, grad_name="EluBackward0")
def selu(input: Input):
    """Return ``elu`` with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    return _elu(input, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)


@op(method=False, inplace=True, elementwise=True, grad_name="EluBackward0")
def celu(input: Input, alpha: ComputedFloat = 1.0):
    """Return ``input`` where positive, else ``alpha * (exp(input / alpha) - 1)`` (Barron 2017)."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(input, alpha, 1.0, 1.0 / alpha)


@op(method=False, inplace=True, elementwise=True)
@real_only("threshold_cpu")
def threshold(input: Input, threshold: ComputedNumber, value: OwnNumber):
    """Return ``input`` where it exceeds ``threshold``, else ``value``."""
    if input.dtype == np.bool_:
        raise NotImplementedError("\"threshold_cpu\" not implemented for 'Bool'")
    limit = threshold.value if jnp.issubdtype(input.dtype, np.floating) else int(threshold.value)
    return jnp.where(input <= limit, jnp.asarray(value.value).astype(input.dtype), input)


@op(
    memory_order=like_first,
    grad_name="PreluKernelBackward0",
    namespaces=("", *_F),
    autocast="low",
    one_object=True,
    pointwise=True,
)
def prelu(input: Input, weight: Input):
    """Return ``input`` where positive, else ``weight * input``; one weight, or one for each
    channel."""
    if input.dtype != weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {scalar_type_of(input)} and "
            f"{scalar_type_of(weight)}"
        )
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    if weight.size != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.size:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.size} and channel size = {channels}."
            )
    floats_only(input, "prelu_cpu")
    slopes = weight.reshape((-1,) + (1,) * max(input.ndim - 2, 0) if input.ndim else ())
    # Chosen before the product, too: 0 times an infinity that the slope does not see is NaN.
    positive = input > 0
    return jnp.where(positive, input, slopes * jnp.where(positive, 0, input))


# -- smooth ----------------------------------------------------------------------------------------


def _gelu_in_parts(aten: Any, x: Any, *, approximate: str = "none") -> Any:
    half = aten.mul.Tensor(x, 0.5)
    if approximate == "tanh":
        cubed = aten.mul.Tensor(aten.pow.Tensor_Scalar(x, 3), 0.044715)
        inner = aten.mul.Tensor(aten.add.Tensor(x, cubed), math.sqrt(2 / math.pi))
        return aten.mul.Tensor(half, aten.add.Tensor(aten.tanh.default(inner), 1))
    erf = aten.erf.default(aten.mul.Tensor(x, math.sqrt(0.5)))
    return aten.mul.Tensor(half, aten.add.Tensor(erf, 1))


@op(casts_out=False, namespaces=_F, method=False, elementwise=True, decomposition=_gelu_in_parts)
def gelu(input: Input, *, approximate: Str = "none"):
    """Return ``input * Φ(input)``; with ``approximate="tanh"`` the tanh form (Hendrycks & Gimpel
    2016)."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    floats_only(input, "GeluKernelImpl")
    if approximate == "tanh":
        return in_float32(functools.partial(jax.nn.gelu, approximate=True))(input)
    # PyTorch's form. jax.nn.gelu's, by erfc, is more exact below -5, but its two branches both stay
    # in memory for backward: a GPT of 12 layers takes 199 MB of temporaries with it, 174 without,
    # and 2.5 % longer.
    return in_float32(lambda x: x * 0.5 * (1 + lax.erf(x * math.sqrt(0.5))))(input)


@op(
    namespaces=(),
    method=False,
    inplace=True,
    elementwise=True,
    decomposition=lambda aten, x: aten.mul.Tensor(x, aten.sigmoid.default(x)),
)
def silu(input: Input):
    """Return ``input * sigmoid(input)``, also called swish."""
    if input.dtype.kind != "c":
        floats_only(input, "silu_cpu")
    return in_float32(lambda x: x * jax.nn.sigmoid(x))(input)


@op(namespaces=(), method=False, inplace=True, elementwise=True)
def mish(input: Input):
    """Return ``input * tanh(softplus(input))`` (Misra 2019)."""
    floats_only(input, "mish_cpu")
    return in_float32(lambda x: x * jnp.tanh(jax.nn.softplus(x)))(input)


def _softplus_in_parts(aten: Any, x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    scaled = x if beta == 1 else aten.mul.Tensor(x, beta)
    smooth = aten.log1p.default(aten.exp.default(scaled))
    smooth = smooth if beta == 1 else aten.div.Tensor(smooth, beta)
    return aten.where.self(aten.gt.Scalar(scaled, threshold), x, smooth)


@op(
    casts_out=False,
    namespaces=_F,
    method=False,
    elementwise=True,
    autocast={"cuda": "float32"},
    decomposition=_softplus_in_parts,
)
def softplus(input: Input, beta: ComputedFloat = 1.0, threshold: ComputedFloat = 20.0):
    """Return ``log(1 + exp(beta * input)) / beta``; ``input`` where ``beta * input >
    threshold``."""
    floats_only(input, "softplus_cpu")

    def smooth(x: Any) -> jax.Array:  # below the default threshold, exp already overflows float16
        scaled = x * beta
        linear = scaled > threshold
        return jnp.where(linear, x, jnp.log1p(jnp.exp(jnp.where(linear, 0, scaled))) / beta)

    return in_float32(smooth)(input)


@op("logsigmoid", namespaces=_F, method=False, grad_name="LogSigmoidBackward0", pointwise=True)
def logsigmoid(input: Input):
    """Return ``log(sigmoid(input))``, without overflow."""
    floats_only(input, "log_sigmoid_cpu")
    return in_float32(jax.nn.log_sigmoid)(input)


@op(namespaces=_F, method=False, memory_order=of_loop, python_signature=True)
def glu(input: Input, dim: Int = -1):
    """Return the first half of ``dim`` times the sigmoid of the second (Dauphin et al. 2017)."""
    if not input.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    d = errors.wrap_dim(dim, input.ndim)
    if input.shape[d] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {d} is size {input.shape[d]}"
        )
    floats_only(input, "glu_cpu")
    value, gate = jnp.split(input, 2, d)
    return in_float32(lambda value, gate: value * jax.nn.sigmoid(gate))(value, gate)


# -- piecewise linear ------------------------------------------------------------------------------


def _hardsigmoid_in_parts(aten: Any, input: Any) -> Any:
    return aten.div.Tensor(aten.clamp.default(aten.add.Tensor(input, 3), 0, 6), 6)


@op(
    namespaces=(), method=False, inplace=True, elementwise=True, decomposition=_hardsigmoid_in_parts
)
def hardsigmoid(input: Input):
    """Return ``input / 6 + 1/2`` limited to [0, 1]."""
    floats_only(input, "hardsigmoid_cpu")

    def limited(x: Any) -> jax.Array:
        # No gradient at NaN, as everywhere but within the limits.
        within = jnp.where((x > -3) & (x < 3), x, lax.stop_gradient(x))
        return _between(within, -3, 3) / 6 + 0.5

    return in_float32(limited)(input)


@op(
    namespaces=(),
    method=False,
    inplace=True,
    elementwise=True,
    decomposition=lambda aten, x: aten.mul.Tensor(x, _hardsigmoid_in_parts(aten, x)),
)
def hardswish(input: Input):
    """Return ``input * hardsigmoid(input)`` (Howard et al. 2019)."""
    floats_only(input, "hardswish_cpu")

    def gated(x: Any) -> jax.Array:
        inside = (x > -3) & (x < 3)
        inner = jnp.where(inside, x, 0)  # an infinity would make the gradient NaN
        # -inf times 0 is NaN, as in PyTorch; a NaN is on no side and stays.
        return jnp.where(x <= -3, 0 * x, jnp.where(inside, inner * ((inner + 3) / 6), x))

    return in_float32(gated)(input)


@op(casts_out=False, elementwise=True, namespaces=("", *_F), one_object=True)
def hardshrink(input: Input, lambd: OwnFloat = 0.5):
    """Return ``input`` where ``|input| > lambd``, else 0."""
    floats_only(input, "hardshrink_cpu")
    return jnp.where((input >= -lambd) & (input <= lambd), 0, input)


@op(casts_out=False, namespaces=_F, method=False, elementwise=True)
def softshrink(input: Input, lambd: Float = 0.5):
    """Return ``input`` moved toward 0 by ``lambd``, and 0 within it. RuntimeError when lambd <
    0."""
    floats_only(input, "softshrink_check")
    largest = float(jnp.finfo(input.dtype).max)
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {scalar_type_of(input)}, "
            f"but found {lambd:g}"
        )

    if follows("softshrink rounds its number"):
        lambd = float(np.asarray(lambd, input.dtype))

    def shrunk(x: Any) -> jax.Array:
        moved = jnp.where(x > lambd, x - lambd, x + lambd)
        # A NaN is in no range and stays NaN; a zero keeps the sign.
        return jnp.where((x >= -lambd) & (x <= lambd), 0 * lax.stop_gradient(x), moved)

    return in_float32(shrunk)(input)


@composite(namespaces=_F, method=False, python_signature=True, pointwise=True)
def softsign(input: Tensor) -> Tensor:
    """Return ``input / (1 + |input|)``."""
    return input / (input.abs() + 1)


@composite(namespaces=_F, method=False, python_signature=True, pointwise=True)
def tanhshrink(input: Tensor) -> Tensor:
    """Return ``input - tanh(input)``."""
    return input - input.tanh()


_functional("relu", relu, one_object=True)
_functional("relu6", relu6)
_functional("leaky_relu", leaky_relu)
_functional("elu", elu)
_functional("selu", selu, one_object=True)
_functional("celu", celu, one_object=True)
_functional("threshold", threshold, one_object=True)
_functional("silu", silu)
_functional("mish", mish)
_functional("hardsigmoid", hardsigmoid)
_functional("hardswish", hardswish)
_functional("hardtanh", hardtanh, _check_limits)
for _name in ("sigmoid", "tanh"):
    export(NAMESPACES[""][_name], _name, _F)
