"""Give pickles written before the class moved to ``torchlike.tensor`` the function they name."""

from torchlike.tensor import _rebuild

__all__ = ["_rebuild"]
