"""``torch.distributed._tensor.experimental``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """Inside, ops take plain tensors beside DTensors, as if replicated; so they do outside."""
    yield
