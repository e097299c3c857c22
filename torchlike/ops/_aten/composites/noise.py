"""Dropout of all kinds and ``rrelu``: noise is drawn by operators, so handlers see it drawn."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core import layouts
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.ops._aten.handlers import composite
from torchlike.ops._aten.kernels import kernel
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor

#: Of a self-normalising net: the negative limit of its activation, alpha times scale, negated.
_ALPHA = 1.7580993408473766


def _noise(input: Tensor, kept: float, features: bool) -> Tensor:
    """Draw ones with probability ``kept``, else zeros: for each element or each channel."""
    if features:
        if input.dim() < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        size = [*input.shape[:2], *(1,) * (input.dim() - 2)]
        empty = aten.new_empty.default(input, size)
    else:
        empty = aten.empty_like.default(input)
    return aten.bernoulli_.float(empty, *([] if kept == 0.5 else [kept]))


def dropped(
    input: Tensor,
    p: float,
    training: Any,
    inplace: Any = False,
    features: bool = False,
    alpha: bool = False,
) -> Tensor:
    """Replace elements of ``input`` at random places, or in whole channels (``features``), by zeros
    (or, with ``alpha``, the activation's limit), and scale the rest."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0 or input.numel() == 0:
        return input
    times = (aten.mul_ if inplace else aten.mul).Tensor
    if p == 1.0:
        zero = aten.zeros.default(
            [], dtype=input.dtype, layout=layouts.strided, device=input.device
        )
        return times(input, zero)
    kept = 1 - p
    noise = _noise(input, kept, features)
    if not alpha:
        return times(input, aten.div_.Scalar(noise, kept))
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * kept)
    shift = aten.mul_.Scalar(aten.add.Scalar(noise, -1), _ALPHA * a)
    shift = aten.add_.Scalar(shift, _ALPHA * a * p)
    return aten.add_.Tensor(times(input, aten.mul_.Scalar(noise, a)), shift)


def _register(name: str, features: bool, alpha: bool, *, at_top: bool = True) -> None:
    default = not alpha

    @composite(f"F.{name}")
    def functional(
        input: Tensor, p: float = 0.5, training: Any = default, inplace: Any = False
    ) -> Tensor:
        return dropped(input, p, training, inplace, features, alpha)

    if not at_top:
        return

    @composite(name)
    def function(input: Tensor, p: float, train: Any) -> Tensor:
        return dropped(input, p, train, False, features, alpha)

    @composite(f"{name}_")
    def in_place(input: Tensor, p: float, train: Any) -> Tensor:
        return dropped(input, p, train, True, features, alpha)


_register("dropout", False, False)
_register("alpha_dropout", False, True)
_register("feature_dropout", True, False)
_register("feature_alpha_dropout", True, True)


def _channels(n: int) -> None:
    name = f"dropout{n}d"

    @composite(f"F.{name}")
    def drop(input: Tensor, p: float = 0.5, training: Any = True, inplace: Any = False) -> Tensor:
        if (n, input.dim()) not in ((1, 2), (3, 4)):
            return dropped(input, p, training, inplace, True, False)
        one = aten.unsqueeze.default(input, 0)
        done = dropped(one, p, training, inplace, True, False)
        return input if inplace else aten.squeeze.dim(done, 0)


for _n in (1, 2, 3):
    _channels(_n)


@kernel("rrelu_with_noise")
def _rrelu_with_noise(
    self: Tensor,
    noise: Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """Apply randomly leaky ReLU and write what each element was multiplied by into ``noise``."""
    made = NAMESPACES[""]["rrelu"](self, lower, upper, training, generator)
    if training:
        noise.copy_(NAMESPACES[""]["where"](self > 0, 1.0, made / self))  # type: ignore[attr-defined]
    return made


@kernel("rrelu_with_noise_")
def _rrelu_with_noise_in_place(self: Tensor, noise: Tensor, *given: Any) -> Tensor:
    return self.copy_(_rrelu_with_noise(self, noise, *given))  # type: ignore[attr-defined]


def _leaky(name: str, input: Tensor, lower: float, upper: float, training: Any) -> Tensor:
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    noise = aten.empty_like.default(input, memory_format=layouts.contiguous_format)
    given = (
        (lower, upper, True)
        if training
        else ()
        if (lower, upper) == (0.125, 1 / 3)
        else (lower, upper)
    )
    return getattr(aten, name).default(input, noise, *given)


@composite("F.rrelu")
def functional_rrelu(
    input: Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: Any = False,
    inplace: Any = False,
) -> Tensor:
    """Apply ``nn.functional.rrelu``."""
    return _leaky(f"rrelu_with_noise{'_' * bool(inplace)}", input, lower, upper, training)


@composite("rrelu")
def rrelu(
    input: Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: Any = False,
    generator: Any = None,
) -> Tensor:
    """Apply ``torch.rrelu``."""
    return _leaky("rrelu_with_noise", input, lower, upper, training)


@composite("rrelu_")
def rrelu_(
    input: Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: Any = False,
    generator: Any = None,
) -> Tensor:
    """Apply ``torch.rrelu_``."""
    return _leaky("rrelu_with_noise_", input, lower, upper, training)
