"""The old name of torch.amp.autocast for the host."""

from torchlike._core import dtypes
from torchlike.amp.old_names import autocast_of

__all__ = ["autocast"]

autocast = autocast_of("cpu", dtypes.bfloat16)
