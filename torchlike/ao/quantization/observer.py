"""Observers: modules that watch a tensor's range and say with which scale and zero point whole
levels cover it."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from torchlike._compat import qschemes, unsupported
from torchlike._compat.qschemes import qscheme as _QScheme
from torchlike._core import dtypes, modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._extensions import absent_dtypes
from torchlike._ops.creation.from_data import tensor
from torchlike.ao.quantization.qparams import determine_qparams
from torchlike.nn.modules.module import Module
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]
_RANGES = {
    "qint8": (-128, 127),
    "int8": (-128, 127),
    "quint8": (0, 255),
    "uint8": (0, 255),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "quint4x2": (0, 15),
    "qint32": (-(2**31), 2**31 - 1),
    "int32": (-(2**31), 2**31 - 1),
}
_quint8, _qint8 = absent_dtypes.DTYPES["quint8"], absent_dtypes.DTYPES["qint8"]


def name_of(dtype: Any) -> str:
    """Return ``"quint8"`` for ``torch.quint8``."""
    return str(dtype).rpartition(".")[2]


def levels_of(dtype: Any) -> tuple[int, int]:
    """Return the least and the greatest level of a dtype. AssertionError for one that has none
    here."""
    if name_of(dtype) not in _RANGES:
        raise AssertionError(f"dtype {dtype} is not one of {', '.join(_RANGES)}")
    return _RANGES[name_of(dtype)]


def _unseen(low: Tensor, high: Tensor) -> bool:
    if low.numel() == 0 or high.numel() == 0:
        return True
    if modes.is_capturing():  # the values are known to nobody
        return False
    return bool((low.isinf() & high.isinf()).all())


class _PartialWrapper:
    """A class with some of its arguments given; calling it makes an instance."""

    def __init__(self, p: functools.partial[Any]) -> None:
        self.p = p

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.p(*args, **keywords)

    def __repr__(self) -> str:
        return repr(self.p)

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """Return the same maker with more arguments given."""
        return _PartialWrapper(functools.partial(self, **kwargs))


class ObserverBase(Module):
    """Watches tensors that pass; ``calculate_qparams()`` says scale and zero point."""

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError("an observer says what it does with a tensor in forward()")

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise NotImplementedError("an observer says scale and zero point in calculate_qparams()")

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        """Return a maker of instances with these arguments."""
        return _PartialWrapper(functools.partial(cls, **kwargs))


class UniformQuantizationObserverBase(ObserverBase):
    """An observer of a range that levels of equal distance cover."""

    def __init__(
        self,
        dtype: Any = _quint8,
        qscheme: _QScheme = qschemes.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = float(np.finfo(np.float32).eps),
        is_dynamic: bool = False,
        factory_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self._keep("eps", [eps], factory_kwargs)
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        least, most = levels_of(dtype)
        if self.has_customized_qrange and quant_min is not None and quant_max is not None:
            if not quant_min <= 0 <= quant_max:
                raise AssertionError("Used-specified quantization range must include 0.")
            if quant_min >= quant_max:
                raise AssertionError("qmin must be less than qmax.")
            least, most = quant_min, quant_max
            if reduce_range:
                least, most = least // 2, most // 2
        elif reduce_range and name_of(dtype) in ("qint8", "int8", "quint8", "uint8"):
            least, most = (-64, 63) if least < 0 else (0, 127)
        self.quant_min, self.quant_max = least, most

    def _keep(self, name: str, value: Any, factory_kwargs: dict[str, Any] | None) -> None:
        """Register a buffer of a number or a list, with the dtype and device that were asked."""
        self.register_buffer(name, tensor(value, **(factory_kwargs or {})))

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scales (float32) and zero points (int64 for symmetric schemes, int32 for
        affine ones, float32 for float_qparams), (channels,) or (1,)."""
        least, most = self.quant_min, self.quant_max
        if _unseen(min_val, max_val):
            warnings.warn(
                "must run observer before calling calculate_qparams. Returning default values.",
                stacklevel=3,
            )
            return tensor([1.0]), tensor([0])
        middle = {"quint8": 128, "uint8": 128, "uint16": 2**15}.get(name_of(self.dtype), 0)
        if middle == 128 and self.has_customized_qrange:
            middle = (least + most) // 2
        return determine_qparams(min_val, max_val, least, most, self.qscheme, self.eps, middle)


class MinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the least and the greatest element seen, in ``min_val`` and ``max_val``.

    NotImplementedError for a scheme per channel.
    """

    def __init__(
        self, dtype: Any = _quint8, qscheme: _QScheme = qschemes.per_tensor_affine, **kwargs: Any
    ) -> None:
        if qscheme.is_per_channel:
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric "
                "                    and torch.per_tensor_affine."
            )
        super().__init__(dtype=dtype, qscheme=qscheme, **kwargs)
        self._keep("min_val", float("inf"), kwargs.get("factory_kwargs"))
        self._keep("max_val", float("-inf"), kwargs.get("factory_kwargs"))

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            x = x_orig.detach().to(self.min_val.dtype)
            self._see(x.min(), x.max())
        return x_orig

    def _see(self, low: Tensor, high: Tensor) -> None:
        self.min_val.copy_(_torch["minimum"](low, self.min_val))
        self.max_val.copy_(_torch["maximum"](high, self.max_val))

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Return the scale and zero point, each (1,)."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val.copy_(float("inf"))
        self.max_val.copy_(float("-inf"))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Keeps moving averages of the least and the greatest element of each tensor."""

    def __init__(self, averaging_constant: float = 0.01, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.averaging_constant = averaging_constant

    def _see(self, low: Tensor, high: Tensor) -> None:
        for kept, seen in ((self.min_val, low), (self.max_val, high)):
            kept.copy_(averaged(kept, seen, self.averaging_constant))


def averaged(kept: Tensor, seen: Tensor, constant: float) -> Tensor:
    """Return the moving average after ``seen``, which is the first where ``kept`` is infinite."""
    return _torch["where"](kept.isinf(), seen, kept + constant * (seen - kept))


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the least and the greatest element of each index of dimension ``ch_axis``, (channels,).

    NotImplementedError for a scheme per tensor.
    """

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: Any = _quint8,
        qscheme: _QScheme = qschemes.per_channel_affine,
        **kwargs: Any,
    ) -> None:
        if not qscheme.is_per_channel:
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support "
                "torch.per_channel_symmetric, torch.per_channel_affine and "
                "torch.per_channel_affine_float_qparams."
            )
        super().__init__(dtype=dtype, qscheme=qscheme, **kwargs)
        self.ch_axis = ch_axis
        self._keep("min_val", [], kwargs.get("factory_kwargs"))
        self._keep("max_val", [], kwargs.get("factory_kwargs"))

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            rows = x_orig.detach().to(self.min_val.dtype).movedim(self.ch_axis, 0).flatten(1)
            low, high = rows.amin(1), rows.amax(1)
            if self.min_val.numel():
                low, high = self._see(low, high)
            self.min_val.resize_(low.shape)
            self.max_val.resize_(high.shape)
            self.min_val.copy_(low)
            self.max_val.copy_(high)
        return x_orig

    def _see(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        return _torch["minimum"](low, self.min_val), _torch["maximum"](high, self.max_val)

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Return the scales and zero points, (channels,)."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        for name in ("min_val", "max_val"):
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Keeps moving averages of each channel's least and greatest element."""

    def __init__(self, averaging_constant: float = 0.01, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.averaging_constant = averaging_constant

    def _see(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        constant = self.averaging_constant
        return averaged(self.min_val, low, constant), averaged(self.max_val, high, constant)


class PlaceholderObserver(ObserverBase):
    """Watches nothing; says only which dtype is meant."""

    def __init__(
        self, dtype: Any = dtypes.float32, is_dynamic: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(dtype, is_dynamic)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class NoopObserver(ObserverBase):
    """Watches nothing: what is not quantized has it."""

    def __init__(self, dtype: Any = dtypes.float16, **kwargs: Any) -> None:
        super().__init__(dtype)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise Exception("calculate_qparams should not be called for NoopObserver")


globals().update(unsupported.functions("ao.quantization.observer"))

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_weight_observer = MinMaxObserver.with_args(
    dtype=_qint8, qscheme=qschemes.per_tensor_symmetric
)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=_qint8, qscheme=qschemes.per_channel_symmetric
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=_quint8, quant_min=0, quant_max=255, is_dynamic=True
)


def quantized(weight: Tensor, observer: Any) -> tuple[Tensor, Tensor]:
    """Quantize a weight (out, …) to int8, and return it with its scale, () or (out,), by an
    observer of qint8."""
    if name_of(observer.dtype) != "qint8":
        raise NotImplementedError(
            f"torch.ao.quantization: weights of {observer.dtype} are not there. Use instead: "
            "torchao, or model.to(torch.bfloat16)."
        )
    observer(weight)
    scale, zero_point = observer.calculate_qparams()
    if bool((zero_point != 0).any()):
        raise NotImplementedError(
            "torch.ao.quantization: weights with zero points are not there. Use instead: a "
            "symmetric qscheme, or torchao."
        )
    if not observer.qscheme.is_per_channel:
        scale = scale[0]
    steps = scale if scale.dim() == 0 else scale.reshape(-1, *[1] * (weight.dim() - 1))
    levels = (weight.float() * (1 / steps)).round().clamp(-128, 127)
    return levels.to(dtypes.int8), scale
