"""Checkpoints in memory, as collectives of objects send them with ``weights_only=True``."""

from __future__ import annotations

import io
from typing import Any

from torchlike._runtime import checkpoints
from torchlike.serialization.load import load
from torchlike.serialization.save import save


@checkpoints.written.by
def written(obj: Any) -> bytes:
    """Return the bytes that ``torch.save`` writes of an object."""
    file = io.BytesIO()
    save(obj, file)
    return file.getvalue()


@checkpoints.read.by
def read(raw: bytes) -> Any:
    """Return the object of a checkpoint. UnpicklingError for what it may not name."""
    return load(io.BytesIO(raw), weights_only=True)
