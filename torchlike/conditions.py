"""``torch._check`` and its kin: a condition that has to hold, or an error of a given type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike import dtypes, modes
from torchlike.functions import all as _all
from torchlike.tensor import Tensor

_Message = Callable[[], Any] | None
_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please "
    "report an enhancement request to PyTorch.)"
)


def _check_with(error_type: type[Exception], cond: bool, message: _Message) -> None:
    """Raise ``error_type(message())`` unless ``cond``. TypeError unless it is a bool."""
    if not isinstance(cond, bool):
        if isinstance(cond, Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use "
                "torch._check_tensor_all() to assert that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if not issubclass(error_type, Exception) or issubclass(error_type, Warning):
        raise AssertionError(
            f"error_type must be a subclass of Exception but not Warning, got {error_type}"
        )
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(_UNSAID if message is None else str(message()))


def _check(cond: bool, message: _Message = None) -> None:
    """RuntimeError unless ``cond``."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: _Message = None) -> None:
    """IndexError unless ``cond``."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: _Message = None) -> None:
    """ValueError unless ``cond``."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: _Message = None) -> None:
    """TypeError unless ``cond``."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: _Message = None) -> None:
    """NotImplementedError unless ``cond``."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: _Message = None, *, max: int | None = None) -> None:
    """RuntimeError unless ``0 <= i`` (and ``i <= max``)."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(
    error_type: type[Exception], cond: Tensor, message: _Message = None
) -> None:  # fmt: skip
    """Raise ``error_type(message())`` unless all elements of a bool tensor are True.

    Differs from PyTorch: inside compiled functions nothing is raised, as with all errors that
    depend on values.
    """
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    if modes.current.capture is None:
        _check_with(error_type, bool(_all(cond)), message)


def _check_tensor_all(cond: Tensor, message: _Message = None) -> None:
    """RuntimeError unless all elements are True."""
    _check_tensor_all_with(RuntimeError, cond, message)
