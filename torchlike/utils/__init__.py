"""``torch.utils``."""

from torchlike.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
