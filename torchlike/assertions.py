"""``torch._assert`` and ``torch._check``: conditions that libraries demand of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.dispatch.registry import export
from torchlike.tensor import Tensor

_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please "
    "report an enhancement request to PyTorch.)"
)
Words = Callable[[], Any] | None


def _raise_unless(error: type[Exception], cond: Any, message: Words) -> None:
    if not isinstance(cond, bool):
        if isinstance(cond, Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use "
                "torch._check_tensor_all() to assert that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    if not cond:
        raise error(_UNSAID if message is None else str(message()))


def _check(cond: Any, message: Words = None) -> None:
    """RuntimeError in the words of ``message()`` unless ``cond``."""
    _raise_unless(RuntimeError, cond, message)


def _check_index(cond: Any, message: Words = None) -> None:
    """IndexError unless ``cond``."""
    _raise_unless(IndexError, cond, message)


def _check_value(cond: Any, message: Words = None) -> None:
    """ValueError unless ``cond``."""
    _raise_unless(ValueError, cond, message)


def _check_type(cond: Any, message: Words = None) -> None:
    """TypeError unless ``cond``."""
    _raise_unless(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Words = None) -> None:
    """NotImplementedError unless ``cond``."""
    _raise_unless(NotImplementedError, cond, message)


def _check_with(error_type: type[Exception], cond: Any, message: Words = None) -> None:
    """An error of a given type unless ``cond``."""
    _raise_unless(error_type, cond, message)


def _check_tensor_all(cond: Tensor, message: Words = None) -> None:
    """RuntimeError unless every element is True. TypeError for what is no tensor of bools."""
    if not isinstance(cond, Tensor) or cond.dtype.name != "bool":
        raise TypeError(f"cond must be a tensor of bools, but got {type(cond)}")
    _raise_unless(RuntimeError, bool(cond.all()), message)


def _assert(condition: Any, message: str) -> None:
    """AssertionError unless the condition, a bool or a tensor of one element, holds."""
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """RuntimeError unless the one element of a tensor is nonzero.

    Differs from PyTorch: the value is waited for.
    """
    if not bool(input):
        said = "Expected Tensor with single nonzero value, but got zero"
        raise RuntimeError(assert_msg or said)


for _function in (_assert, _assert_async, _check, _check_index, _check_not_implemented,
                  _check_tensor_all, _check_type, _check_value, _check_with):  # fmt: skip
    export(_function, _function.__name__, ("",))
