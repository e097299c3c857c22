"""What operators on fake tensors refuse."""

from __future__ import annotations

from typing import Any


class MetadataMismatchError(RuntimeError):
    """Two tensors that should agree do not."""


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor that cannot be faked."""


class _OfOperator(RuntimeError):
    def __init__(self, func: Any) -> None:
        super().__init__(func)
        self.func = func


class DataDependentOutputException(_OfOperator):
    """An operator whose result is a value."""


class DynamicOutputShapeException(_OfOperator):
    """An operator whose result's shape depends on values."""


class UnsupportedOperatorException(_OfOperator):
    """An operator that does not run on the meta device."""


#: What an operator refuses because there are no values: with values it would not.
REFUSALS = (DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException)
