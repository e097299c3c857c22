"""``torch._C._autograd``: what libraries ask of the compiled engine."""

from __future__ import annotations

from torchlike.autograd.saved_tensor import SavedTensor

__all__ = ["SavedTensor"]
