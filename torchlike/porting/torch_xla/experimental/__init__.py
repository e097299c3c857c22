"""``torch_xla.experimental``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.experimental")
_eager = False


def eager_mode(enable: bool) -> None:
    """Remember the choice, which changes nothing: operations run at once in any case, and
    ``torch_xla.compile`` compiles."""
    global _eager
    _eager = enable


def is_eager_mode() -> bool:
    """Return the value that ``eager_mode`` was told."""
    return _eager


@contextlib.contextmanager
def eager_mode_context(enable: bool) -> Iterator[None]:
    """Set ``eager_mode`` in a ``with`` block."""
    before = _eager
    eager_mode(enable)
    try:
        yield
    finally:
        eager_mode(before)
