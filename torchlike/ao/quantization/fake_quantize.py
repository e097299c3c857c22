"""Fake quantization: modules that watch a tensor's range and round it to levels, for training."""

from __future__ import annotations

import functools
from typing import Any

from torchlike._compat import qschemes
from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._extensions import absent_dtypes
from torchlike._ops.creation.from_data import tensor
from torchlike.ao.quantization.observer import (
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    _PartialWrapper,
    levels_of,
)
from torchlike.nn.modules.module import Module
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]
_quint8, _qint8 = absent_dtypes.DTYPES["quint8"], absent_dtypes.DTYPES["qint8"]


class FakeQuantizeBase(Module):
    """A module that observes tensors and rounds them, each of which can be switched off."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", tensor([1], dtype=dtypes.uint8))
        self.register_buffer("observer_enabled", tensor([1], dtype=dtypes.uint8))

    def forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError("a fake quantizer rounds in forward()")

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise NotImplementedError("a fake quantizer says scale and zero point")

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round from now on, or do not."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Do not round from now on."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Observe from now on, or do not."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Do not observe from now on."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        """Return a maker of instances with these arguments."""
        return _PartialWrapper(functools.partial(cls, **kwargs))


class FakeQuantize(FakeQuantizeBase):
    """Rounds to ``(level - zero_point) * scale``, with scale and zero point of what its observer
    saw. Gradients pass where the level is in the range.

    AssertionError for a range that ``dtype`` does not have.

    Differs from PyTorch: it reads its switches in Python, so ``torchlike.jit`` refuses it;
    ``FusedMovingAvgObsFakeQuantize`` can be compiled.
    """

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            given = observer.p.keywords if isinstance(observer, _PartialWrapper) else {}
            dtype = given.get("dtype", observer_kwargs.get("dtype", _quint8))
            least, most = levels_of(dtype)
            if least > quant_min:
                raise AssertionError("quant_min out of bound")
            if quant_max > most:
                raise AssertionError("quant_max out of bound")
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        self.activation_post_process = observer(is_dynamic=is_dynamic, **observer_kwargs)
        watcher = self.activation_post_process
        self.quant_min, self.quant_max = watcher.quant_min, watcher.quant_max
        self.is_dynamic, self.dtype, self.qscheme = is_dynamic, watcher.dtype, watcher.qscheme
        floats = self.qscheme is qschemes.per_channel_affine_float_qparams
        self.register_buffer("scale", tensor([1.0]))
        kind = dtypes.float32 if floats else dtypes.int32
        self.register_buffer("zero_point", tensor([0], dtype=kind))
        self.ch_axis = getattr(watcher, "ch_axis", -1)
        self.is_per_channel = self.qscheme.is_per_channel

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the observer's scale and zero point."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Tensor) -> Tensor:
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            scale, zero_point = self.calculate_qparams()
            if self.scale.shape != scale.shape:
                self.scale.resize_(scale.shape)
                self.zero_point.resize_(zero_point.shape)
            self.scale.copy_(scale)
            self.zero_point.copy_(zero_point)
        if self.fake_quant_enabled[0] == 1:
            watcher = self.activation_post_process
            levels = watcher.quant_min, watcher.quant_max
            if self.is_per_channel:
                return _torch["fake_quantize_per_channel_affine"](
                    X, self.scale, self.zero_point, self.ch_axis, *levels
                )
            return _torch["fake_quantize_per_tensor_affine"](
                X, self.scale, self.zero_point, *levels
            )
        return X

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, "
            f"observer_enabled={self.observer_enabled}, "
            f"quant_min={self.activation_post_process.quant_min}, "
            f"quant_max={self.activation_post_process.quant_max}, dtype={self.dtype}, "
            f"qscheme={self.qscheme}, ch_axis={self.ch_axis}, scale={self.scale}, "
            f"zero_point={self.zero_point}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        for name in ("scale", "zero_point"):
            if prefix + name in state_dict:
                getattr(self, name).resize_(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """``FakeQuantize`` with moving averages, as one function
    (``torch.fused_moving_avg_obs_fake_quant``), which compiled functions take too.

    AssertionError for another observer than one of moving averages.
    """

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        if not isinstance(
            self.activation_post_process,
            (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver),
        ):
            raise AssertionError(
                "Fused observer+fake_quant module only works with MovingAverageMinMaxObserver"
            )
        self.register_buffer("fake_quant_enabled", tensor([1], dtype=dtypes.int64))
        self.register_buffer("observer_enabled", tensor([1], dtype=dtypes.int64))
        self.is_symmetric_quant = self.qscheme.is_symmetric

    def forward(self, X: Tensor) -> Tensor:
        watcher = self.activation_post_process
        return _torch["fused_moving_avg_obs_fake_quant"](
            X,
            self.observer_enabled,
            self.fake_quant_enabled,
            watcher.min_val,
            watcher.max_val,
            self.scale,
            self.zero_point,
            watcher.averaging_constant,
            watcher.quant_min,
            watcher.quant_max,
            self.ch_axis,
            self.is_per_channel,
            self.is_symmetric_quant,
        )

    def extra_repr(self) -> str:
        watcher = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, "
            f"observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={watcher.quant_min}, "
            f"quant_max={watcher.quant_max}, qscheme={self.qscheme}, "
            f"reduce_range={watcher.reduce_range}"
        )


_TENSOR = {"dtype": _qint8, "qscheme": qschemes.per_tensor_symmetric}
_CHANNELS = {"dtype": _qint8, "qscheme": qschemes.per_channel_symmetric}
default_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=0,
    quant_max=255,
    dtype=_quint8,
    qscheme=qschemes.per_tensor_affine,
    reduce_range=True,
)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    reduce_range=False,
    **_TENSOR,
)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    reduce_range=False,
    ch_axis=0,
    **_CHANNELS,
)
default_dynamic_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=0,
    quant_max=255,
    is_dynamic=True,
    dtype=_quint8,
    averaging_constant=1,
)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=_quint8
)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, **_TENSOR
)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127, **_CHANNELS
)
_ROWS = {
    "observer": MovingAveragePerChannelMinMaxObserver,
    "qscheme": qschemes.per_channel_affine_float_qparams,
    "ch_axis": 0,
    "averaging_constant": 1,
}
default_embedding_fake_quant = FakeQuantize.with_args(
    dtype=_quint8, quant_min=0, quant_max=255, **_ROWS
)
default_embedding_fake_quant_4bit = FakeQuantize.with_args(
    dtype=absent_dtypes.DTYPES["quint4x2"], **_ROWS
)


def disable_fake_quant(mod: Any) -> None:
    """Switch the rounding of fake quantizers off, by ``model.apply(disable_fake_quant)``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_fake_quant(mod: Any) -> None:
    """Switch the rounding of fake quantizers on, by ``model.apply(enable_fake_quant)``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_observer(mod: Any) -> None:
    """Switch the observing of fake quantizers off, by ``model.apply(disable_observer)``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()


def enable_observer(mod: Any) -> None:
    """Switch the observing of fake quantizers on, by ``model.apply(enable_observer)``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()
