"""``torch._assert`` and ``torch._check`` with their kin, by which libraries refuse bad input."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from torchlike._core import devices, dtypes, layouts, modes
from torchlike._core.dispatch.registry import composite
from torchlike._ops.value_checks import require
from torchlike._runtime.reference import follows
from torchlike.tensor import Tensor

_FAILED = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please "
    "report an enhancement request to PyTorch.)"
)


@composite("_assert", method=False)
def assert_(condition: Any, message: Any) -> None:
    """Raise AssertionError with the message unless the condition, a bool or a tensor of one, is
    true."""
    if isinstance(condition, Tensor) and modes.is_capturing():
        require(condition, AssertionError, str(message))
    elif not condition:
        raise AssertionError(message)


@composite("_assert_async", method=False)
def assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raise RuntimeError unless a tensor's one value is not zero.

    Differs from PyTorch: eager code waits for the value.
    """
    if input.numel() != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {input.numel()} values is ambiguous"
            if input.numel()
            else "Boolean value of Tensor with no values is ambiguous"
        )
    words = assert_msg or "Expected Tensor with single nonzero value, but got zero"
    require(input, RuntimeError, words)


@composite("_assert_scalar", method=False)
def assert_scalar(self: Any, assert_msg: str) -> None:
    """Raise RuntimeError with the message unless a number or a bool is true."""
    if not self:
        raise RuntimeError(assert_msg)


def _raise_unless(holds: bool, error: type[Exception], message: Any) -> None:
    if holds:
        return
    if not issubclass(error, Exception) or issubclass(error, Warning):
        raise AssertionError(
            f"error_type must be a subclass of Exception but not Warning, got {error}"
        )
    if message is None:
        raise error(_FAILED)
    if not callable(message) and not follows("checks take words"):
        raise TypeError("message must be a callable")
    raise error(str(message() if callable(message) else message))


@composite("_check_with", method=False)
def check_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """Raise ``error_type`` with the text that ``message()`` returns unless ``cond``, which must be
    a bool."""
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use "
            "torch._check_tensor_all() to assert that all elements are true."
        )
    if not isinstance(cond, bool):
        if hasattr(cond, "assume"):  # of numbers that only values tell, while a graph is made
            cond.assume()
            return
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    _raise_unless(cond, error_type, message)


def _check(name: str, error: type[Exception]) -> None:
    def check(cond: Any, message: Callable[[], Any] | None = None) -> None:
        check_with(error, cond, message)

    check.__doc__ = (
        f"Raise {error.__name__} with the text that ``message()`` returns unless ``cond``."
    )
    composite(name, method=False)(check)


_check("_check", RuntimeError)
_check("_check_index", IndexError)
_check("_check_value", ValueError)
_check("_check_type", TypeError)
_check("_check_not_implemented", NotImplementedError)


@composite("_check_is_size", method=False)
def check_is_size(i: int, message: Any = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless ``0 <= i``, and ``i <= max`` where it is given."""
    warnings.warn(
        "_check_is_size will be removed in a future PyTorch release along with "
        "guard_size_oblivious.     Use _check(i >= 0) instead.",
        FutureWarning,
        stacklevel=3,
    )
    check_with(RuntimeError, i >= 0, message)
    if max is not None:
        check_with(RuntimeError, i <= max, message)


@composite("_check_tensor_all_with", method=False)
def check_tensor_all_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """Raise ``error_type`` unless all elements of a tensor of bools are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    if not modes.is_capturing():
        _raise_unless(bool(cond.all().item()), error_type, message)
    else:
        words = _FAILED if message is None else str(message())
        require(cond, error_type, words)


@composite("_check_tensor_all", method=False)
def check_tensor_all(cond: Any, message: Any = None) -> None:
    """Raise RuntimeError unless all elements of a tensor of bools are true."""
    check_tensor_all_with(RuntimeError, cond, message)


@composite("_assert_tensor_metadata", method=False)
def assert_tensor_metadata(
    a: Tensor,
    size: Any = None,
    stride: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    layout: Any = None,
) -> None:
    """Raise RuntimeError unless a tensor has the size, strides, dtype, device and layout that are
    given."""
    is_strided = a.layout is layouts.strided
    for name, expected, found in (
        ("sizes", size if size is None else list(size), list(a.shape)),
        (
            "strides",
            stride if stride is None else list(stride),
            list(a.stride()) if is_strided else None,
        ),
        ("dtype", dtype, a.dtype),
        ("device", device if device is None else devices.device(device), a.device),
        ("layout", layout, a.layout),
    ):
        if expected is not None and expected != found:
            raise RuntimeError(
                f"Tensor {name} mismatch! Expected: {_describe(expected)}, "
                f"Got: {_describe(found, True)}"
            )


def _describe(what: Any, found: bool = False) -> str:
    """Return a size, dtype, device or layout, as the message names it."""
    if isinstance(what, dtypes.dtype):
        return dtypes.c_name(what) if found else dtypes.scalar_type(what)
    if isinstance(what, layouts.layout):
        return "".join(part.capitalize() for part in repr(what)[6:].split("_")[:2]).replace(
            "SparseCoo", "Sparse"
        )
    return str(what)
