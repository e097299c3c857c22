"""Who computes attention in another's place: ``context_parallel`` of a room above this one.

Compiled programs see the change: one that was made outside of it is not for calls inside.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torchlike._core import modes

_active: list[Callable[..., Any]] = []


def _get_active() -> Callable[..., Any] | None:
    return _active[-1] if _active else None


def _set_active(value: Callable[..., Any] | None) -> None:
    _active[:] = [] if value is None else [value]


def active() -> Callable[..., Any] | None:
    """Return the function to be called instead, with the attention itself as the first argument;
    None where there is none."""
    if modes.is_capturing():
        modes.setting_seen(
            "torch.distributed.tensor.experimental.context_parallel()", _get_active, _set_active
        )
    return _active[-1] if _active else None


@contextlib.contextmanager
def by(instead: Callable[..., Any]) -> Iterator[None]:
    """Have attention computed by ``instead`` in a `with` block."""
    before = list(_active)
    _active.append(instead)
    modes.epoch.advance()
    try:
        yield
    finally:
        _active[:] = before
        modes.epoch.advance()


@contextlib.contextmanager
def itself() -> Iterator[None]:
    """Have attention computed as ever in a `with` block: what computes in its place computes by
    it."""
    before = list(_active)
    _active.clear()
    try:
        yield
    finally:
        _active[:] = before
