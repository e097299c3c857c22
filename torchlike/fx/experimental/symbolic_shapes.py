"""Questions that code asks of conditions on unknown shapes; here shapes are known."""

from __future__ import annotations

from typing import Any


def _known(condition: Any) -> bool:
    if not isinstance(condition, bool):
        raise AssertionError(f"Expected bool, got {type(condition)}")
    return condition


def guard_or_false(a: Any) -> bool:
    """The condition. AssertionError for what is no bool."""
    return _known(a)


def guard_or_true(a: Any) -> bool:
    """The condition. AssertionError for what is no bool."""
    return _known(a)


def statically_known_true(x: Any) -> bool:
    """The condition. AssertionError for what is no bool."""
    return _known(x)


def guard_size_oblivious(expr: Any) -> bool:
    """The condition. AssertionError for what is no bool."""
    return _known(expr)


def is_symbolic(val: Any) -> bool:
    """False: numbers are plain."""
    return False


def free_symbols(val: Any) -> set[Any]:
    """None: numbers are plain."""
    return set()


def has_free_symbols(val: Any) -> bool:
    """False: numbers are plain."""
    return False
