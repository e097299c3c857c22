"""What a loss' ``reduction`` is called: by number in aten, by two flags in older code."""

from __future__ import annotations

from typing import Any

from torchlike._core import errors

#: aten's numbers.
NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def check_reduction(reduction: str) -> None:
    """Refuse an unknown reduction with ValueError."""
    if reduction not in NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def get_enum(reduction: str) -> int:
    """Return the number of a reduction. ValueError for an unknown one."""
    if reduction == "elementwise_mean":
        errors.warn_user(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            UserWarning,
        )
        reduction = "mean"
    check_reduction(reduction)
    return NUMBERS[reduction]


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """Return the reduction that the two older flags ask for, None of which means True; with a
    warning."""
    mean = size_average is None or size_average
    chosen = ("mean" if mean else "sum") if reduce is None or reduce else "none"
    if emit_warning:
        errors.warn_user(
            f"size_average and reduce args will be deprecated, please use reduction='{chosen}' "
            "instead.",
            UserWarning,
        )
    return chosen


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """Return the number of the reduction of ``legacy_get_string``."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def reduction_of(size_average: Any, reduce: Any, reduction: str) -> str:
    """Return a loss' reduction, which the two older flags override where they are given."""
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)
