"""``torch.utils``."""

from torchlike.utils import data

__all__ = ["data"]
