"""``torch.ops.higher_order``: operators that take functions, as graphs call them.

Their functions are GraphModules below the graph's own. A call runs them eagerly, or is captured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._higher_order_ops import control_flow
from torchlike._ops.aten import custom
from torchlike.amp.autocast_mode import autocast
from torchlike.autograd.grad_mode import set_grad_enabled


class _OfFunction(custom.HigherOrderOperator):
    """An operator that a function computes."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name)
        self.__doc__ = function.__doc__
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def _operator(function: Callable[..., Any]) -> Callable[..., Any]:
    _OfFunction(function.__name__.removeprefix("_"), function)
    return function


@_operator
def _cond(pred: Any, true_graph: Any, false_graph: Any, operands: Any = ()) -> Any:
    """Call ``true_graph(*operands)`` if ``pred``, else ``false_graph(*operands)``."""
    return control_flow.cond(pred, true_graph, false_graph, tuple(operands))


@_operator
def _while_loop(
    cond_graph: Any, body_graph: Any, carried_inputs: Any, additional_inputs: Any = ()
) -> Any:
    """Run ``while cond_graph(*carried, *additional): carried = body_graph(*carried,
    *additional)``."""
    more = tuple(additional_inputs)

    def test(*carried: Any) -> Any:
        (holds,) = cond_graph(*carried, *more)  # graphs below give tuples
        return holds

    return control_flow.while_loop(
        test,
        lambda *carried: tuple(body_graph(*carried, *more)),
        tuple(carried_inputs),
    )


@_operator
def _wrap_with_autocast(
    device_type: str, dtype: Any, enabled: bool, cache_enabled: bool, wrapped_func: Any, *args: Any
) -> Any:
    """Call ``wrapped_func(*args)`` under autocast."""
    with autocast(device_type, dtype, enabled, cache_enabled):
        return wrapped_func(*args)


@_operator
def _wrap_with_set_grad_enabled(enable_grad: bool, wrapped_func: Any, *args: Any) -> Any:
    """Call ``wrapped_func(*args)``, recorded or not."""
    with set_grad_enabled(enable_grad):
        return wrapped_func(*args)
