"""Steps of parameters whose class has ``__torch_dispatch__``: one operator each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import modes
from torchlike._extensions.meta import MetaArray
from torchlike._ops.aten.custom import OpOverloadPacket
from torchlike.ops._aten.schema_language import FunctionSchema, parse
from torchlike.tensor import Tensor, wrap


class _StepOperator:
    """An optimizer's step for one parameter as an operator, ``torchlike::sgd_step``:
    ``(parameter, gradient, states) -> what they are after the step``."""

    namespace, overload = "torchlike", ""

    def __init__(self, name: str, step: Callable[..., list[Any]]) -> None:
        self.name, self.step = f"{name.lower()}_step", step
        self.__doc__ = None

    @property
    def qualname(self) -> str:
        return f"torchlike::{self.name}"

    @property
    def schema(self) -> FunctionSchema:
        return parse(f"{self.qualname}(Tensor parameter, Tensor grad, Tensor[] states) -> Tensor[]")

    def __call__(self, p: Tensor, g: Tensor, states: Sequence[Tensor]) -> list[Tensor]:
        if p.is_meta:  # no values: what is there after the step looks like what was before
            return [wrap(MetaArray(tuple(t.shape), t.dtype.numpy)) for t in (p, *states)]
        arrays = [t._read() for t in (p, g, *states)]
        found = self.step(arrays[0], arrays[1], tuple(arrays[2:]))
        return [wrap(array) for array in found]


def handed_over(
    update: Callable[..., None],
    one_step: Callable[..., list[Any]],
    key: Any,
    rule: Any,
    params: Sequence[Tensor],
    states: Sequence[Sequence[Tensor]],
    scalars: Sequence[Callable[[], Any]],
) -> None:
    """Step parameters some of which are of classes with ``__torch_dispatch__``: these handle the
    step as one operator. Raises NotImplementedError for a state that is not of the parameter's
    class."""
    plain = [i for i, p in enumerate(params) if not p._handles]
    if plain:
        update(key, rule, [params[i] for i in plain], [states[i] for i in plain], scalars)
    values = tuple(get() for get in scalars)
    name = getattr(key[0], "__name__", key[0])
    for p, own in zip(params, states, strict=True):
        if not p._handles:
            continue
        grad = p._held_grad()
        odd = [s for s in own if s.dim() and not s._handles]
        if odd:
            raise NotImplementedError(
                f"{name} with states for a parameter of class {type(p).__name__}, which has "
                "__torch_dispatch__: use SGD without momentum, or write the step in operators"
            )
        packet = OpOverloadPacket("torchlike", f"{name.lower()}_step")
        packet._add(_StepOperator(name, lambda p, g, s: one_step(rule, p, g, s, values)))
        with modes.unrecorded():
            for t, new in zip((p, *own), packet.default(p, grad, list(own)), strict=True):
                t.copy_(new)  # type: ignore[attr-defined]
