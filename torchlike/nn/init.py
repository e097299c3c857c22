"""Initialisation: fill a tensor in place with PyTorch's numbers, and give it back.

Bounds and standard deviations are Python doubles, computed in PyTorch's order of operations, so
that a seed gives the same bits.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from torchlike._core import casts, overrides
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._extensions.meta import MetaArray
from torchlike._extensions.overrides import protocol
from torchlike._extensions.overrides.code_exchange import asks
from torchlike._ops.creation.wrap_result import finish
from torchlike._ops.memory_order import strides_like
from torchlike._ops.random.random import randperm
from torchlike._runtime.mixed_operands import own_draws, replicating
from torchlike.autograd.grad_mode import no_grad
from torchlike.nn.modules.utils import new_tensor
from torchlike.tensor import Tensor

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR_TEXT = """
linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d sigmoid
"""
_LINEAR = frozenset(_LINEAR_TEXT.split())


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """Return the factor by which a nonlinearity's weights should be larger than a linear layer's.

    ``param`` is leaky_relu's slope (0.01 by default). ValueError for an unknown nonlinearity.
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        else:
            slope = param
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _is_handled(tensor: Tensor) -> bool:
    """Return whether ``__torch_dispatch__`` of a mode, or of the tensor's class, sees the
    operations on a tensor."""
    return bool(overrides.state.dispatch_modes or protocol.handlers((tensor,)))


def _has_no_values(tensor: Tensor) -> bool:
    """Return whether a tensor is on the meta device, or is a fake tensor."""
    return type(tensor._storage.cell) is MetaArray


def _put(tensor: Tensor, values: np.ndarray) -> Tensor:
    """Write NumPy values into a tensor."""
    if _is_handled(tensor):  # who handles the write is to see where the values come from
        return tensor.copy_(NAMESPACES[""]["tensor"](values.astype(tensor.dtype.numpy)))
    array = jax.device_put(values.astype(tensor.dtype.numpy))
    with replicating():
        return tensor.copy_(finish(array, tensor.device))


# -- plain fills -----------------------------------------------------------------------------------


@asks("uniform_:  | tensor a=0.0 b=1.0 generator=None")
@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a tensor from the uniform distribution on ``[a, b)``, in place; returns it.

    Example:
      >>> torch.nn.init.uniform_(torch.empty(100), -1, 1).abs().max() <= 1
      tensor(True)
    """
    return tensor.uniform_(a, b, generator=generator)


@asks("normal_:  | tensor mean=0.0 std=1.0 generator=None")
@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a tensor from the normal distribution, in place and without recording it; returns it.

    Args:
      tensor: of a floating point dtype and any shape.
      mean, std: of the distribution.
      generator: where the draws come from.

    Example:
      >>> abs(torch.nn.init.normal_(torch.empty(1000), std=0.1).std().item() - 0.1) < 0.02
      True
    """
    return tensor.normal_(mean, std, generator=generator)


@asks("constant_:  | tensor val")
@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a tensor with one value, in place and without recording it; returns it.

    Example:
      >>> torch.nn.init.constant_(torch.empty(2), 0.5)
      tensor([0.5000, 0.5000])
    """
    if _is_handled(tensor):
        return tensor.fill_(val)
    if type(val) in casts.NUMBERS:
        val = casts.number(val, tensor.dtype.numpy, tensor.numel())
    return _put(tensor, np.full(tuple(tensor.shape), val))


def ones_(tensor: Tensor) -> Tensor:
    """Fill a tensor with ones, in place and without recording it; returns it."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill a tensor with zeros, in place and without recording it; returns it.

    Example:
      >>> torch.nn.init.zeros_(torch.empty(2))
      tensor([0., 0.])
    """
    if _is_handled(tensor):
        with no_grad():
            return tensor.zero_()
    return constant_(tensor, 0.0)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity. ValueError for other numbers of dimensions."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _put(tensor, np.eye(tensor.shape[0], tensor.shape[1]))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it passes its input channels on unchanged.

    ValueError unless it has 3 to 5 dimensions and ``groups`` divides dimension 0.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    size = tuple(tensor.shape)
    if size[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(size)
    per_group = size[0] // groups
    centre = tuple(n // 2 for n in size[2:])
    for g in range(groups):
        for d in range(min(per_group, size[1])):
            values[(g * per_group + d, d, *centre)] = 1
    return _put(tensor, values)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill from the normal distribution, values outside ``[a, b]`` drawn again.

    Where the interval holds at most 0.3 of the probability, by rejection from uniforms on it.
    """
    if _has_no_values(tensor) or own_draws.function(
        tensor, lambda own: trunc_normal_(own, mean, std, a, b, generator)
    ):
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect."
        )

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    def drawn(name: str, *args: float, into: Tensor | None = None) -> np.ndarray:
        # In the tensor's memory order, in which PyTorch fills.
        filled = into
        if filled is None:
            filled = new_tensor(tensor.shape, tensor.device, tensor.dtype)
            filled._storage.strides = strides_like(tensor._geometry)
        getattr(filled, name)(*args, generator=generator)
        return np.array(filled._value("trunc_normal_", "initialisation outside"))

    kind = tensor.dtype.numpy.type
    if below(b) - below(a) > 0.3:
        values = drawn("normal_", mean, std, into=tensor)
        while (outside := (values < kind(a)) | (values > kind(b))).any():
            values = np.where(outside, drawn("normal_", mean, std), values)
        return _put(tensor, values)
    mode = min(max(mean, a), b)
    peak = kind(-0.5 * ((mode - mean) / std) ** 2)
    values, pending = None, np.ones(tuple(tensor.shape), bool)
    while pending.any():
        candidates = drawn("uniform_", a, b)
        u = drawn("uniform_")
        values = candidates if values is None else np.where(pending, candidates, values)
        with np.errstate(divide="ignore"):
            z = (values - kind(mean)) / kind(std)
            pending = pending & (np.log(u) > z * z * kind(-0.5) - peak)
    return tensor if values is None else _put(tensor, values)


# -- by fan-in and fan-out -------------------------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return the number of inputs and of outputs of one unit: size(1) and size(0), times the
    kernel's elements."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    kernel = math.prod(tensor.shape[2:])
    return tensor.size(1) * kernel, tensor.size(0) * kernel


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


@no_grad()
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from a uniform distribution with variance ``gain² · 2 / (fan_in + fan_out)`` (Glorot and
    Bengio, 2010), in place; returns the tensor. ValueError below two dimensions.

    Example:
      >>> torch.nn.init.xavier_uniform_(torch.empty(3, 3)).abs().max() <= 1
      tensor(True)
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    a = math.sqrt(3.0) * std
    return tensor.uniform_(-a, a, generator=generator)


@no_grad()
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill from a normal distribution with variance ``gain² · 2 / (fan_in + fan_out)`` (Glorot and
    Bengio, 2010), in place; returns the tensor. ValueError below two dimensions.
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return tensor.normal_(0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator=generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@asks("kaiming_uniform_:  | tensor a=0 mode='fan_in' nonlinearity='leaky_relu' generator=None")
@no_grad()
def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill from a uniform distribution with variance ``gain² / fan`` (He et al., 2015), in place;
    returns the tensor. ValueError below two dimensions, and for an unknown ``mode``.
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return tensor.uniform_(-bound, bound, generator=generator)


@no_grad()
def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill from a normal distribution with variance ``gain² / fan`` (He et al., 2015), in place;
    returns the tensor. ValueError below two dimensions, and for an unknown ``mode``.

    Example:
      >>> torch.nn.init.kaiming_normal_(torch.empty(4, 3), nonlinearity="relu").shape
      torch.Size([4, 3])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else tensor.normal_(0, std, generator=generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix of the first dimension by all others (Saxe et al.,
    2013).

    Differs from PyTorch: the QR decomposition is NumPy's, whose last bits differ (4e-7).
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or _has_no_values(tensor):
        return tensor
    rows = tensor.size(0)
    flat = new_tensor((rows, tensor.numel() // rows), tensor.device, tensor.dtype)
    values = flat.normal_(0, 1, generator=generator)._value("orthogonal_", "it outside")
    wide = rows < values.shape[1]
    q, r = np.linalg.qr(values.T if wide else values)
    q = q * np.sign(np.diag(r))
    return _put(tensor, ((q.T if wide else q) * gain).reshape(tuple(tensor.shape)))


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill from a normal distribution, with the given share of each column set to zero (Martens,
    2010)."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    if _has_no_values(tensor):
        return tensor
    values = np.array(tensor._value("sparse_", "it outside"))
    for column in range(columns):
        order = randperm(rows)._value("sparse_", "it outside")
        values[order[:zeros], column] = 0
    return _put(tensor, values)


def _deprecated(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(function)
    def old(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    return old


uniform = _deprecated("uniform", uniform_)
normal = _deprecated("normal", normal_)
constant = _deprecated("constant", constant_)
eye = _deprecated("eye", eye_)
dirac = _deprecated("dirac", dirac_)
xavier_uniform = _deprecated("xavier_uniform", xavier_uniform_)
xavier_normal = _deprecated("xavier_normal", xavier_normal_)
kaiming_uniform = _deprecated("kaiming_uniform", kaiming_uniform_)
kaiming_normal = _deprecated("kaiming_normal", kaiming_normal_)
orthogonal = _deprecated("orthogonal", orthogonal_)
sparse = _deprecated("sparse", sparse_)

#: Names that initialisers of libraries call, for which autograd does not look.
_no_grad_uniform_ = uniform_
_no_grad_normal_ = normal_
_no_grad_trunc_normal_ = trunc_normal_
_no_grad_fill_ = constant_
_no_grad_zero_ = zeros_
