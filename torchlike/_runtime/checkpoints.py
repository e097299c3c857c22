"""Checkpoints in memory, for rooms below the one that knows their format."""

from __future__ import annotations

from torchlike._runtime.provided import Provided

written = Provided("the bytes that ``torch.save`` writes of an object")
read = Provided("the object of such bytes, read with ``weights_only=True``")
