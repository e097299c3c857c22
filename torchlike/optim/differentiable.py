"""Steps that autograd records: ``differentiable=True``, for gradients through an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchlike._core import modes
from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Inputs, Int, Static
from torchlike._core.storage import device_array
from torchlike.autograd.grad_mode import enable_grad
from torchlike.optim.fused import Rule, repeatedly, updated
from torchlike.tensor import Tensor, wrap


class _Keyed:
    """A rule that is equal to another of the same key, so that each is compiled once."""

    def __init__(self, key: Any, rule: Rule) -> None:
        self.key, self.rule = key, rule

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and other.key == self.key


@op("optimizer_step", namespaces=(), method=False, grad_name="OptimizerStepBackward0")
def optimizer_step(tensors: Inputs, rule: Static, n: Int, n_states: Int):
    """Compute the new parameters and states from the old ones, the gradients and the
    hyperparameters."""
    count = n * (1 + n_states)
    return updated(
        rule.rule, tensors[:count], tensors[count : count + n], tensors[count + n :], n, n_states
    )


def recorded_update(
    key: Any,
    rule: Rule,
    params: Sequence[Tensor],
    states: Sequence[Sequence[Tensor]],
    scalars: Sequence[Callable[[], Any]],
) -> None:
    """Update a group as ``fused.update_group`` does, as one op on the tape.

    RuntimeError for a parameter that is a leaf and requires grad: it cannot be both where gradients
    end and the result of a step.
    """
    n = len(params)
    if not n:
        return
    if len(set(map(id, params))) < n:
        repeatedly(recorded_update, key, rule, params, states, scalars)
        return
    owners = [*params, *(s for group in states for s in group)]
    gradients: list[Any] = [p.grad for p in params]
    with enable_grad():
        live = [_as_tensor(get) for get in scalars]
        new: Any = optimizer_step(
            (*owners, *gradients, *live), _Keyed(key, rule), n, len(states[0]) if states else 0
        )
        for t, value in zip(owners, new, strict=True):
            t.copy_(value)


def _as_tensor(get: Callable[[], Any]) -> Tensor:
    """Return a hyperparameter as a tensor: the user's own, so that gradients reach it, or a float64
    scalar."""
    given = get.given() if hasattr(get, "given") else None  # type: ignore[attr-defined]
    if isinstance(given, Tensor):
        return given
    value = modes.running_capture().per_call_value(get)
    return wrap(value if modes.is_capturing() else device_array(np.asarray(value)))
