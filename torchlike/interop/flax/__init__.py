"""Flax modules in torchlike, and torchlike's in Flax: ``from_nnx``, ``from_linen``, ``to_nnx``.

Importing this room imports flax.
"""

from torchlike.interop.flax.from_linen import LinenModule, from_linen
from torchlike.interop.flax.from_nnx import NNXModule, from_nnx
from torchlike.interop.flax.to_nnx import TorchlikeModule, to_nnx

__all__ = ["LinenModule", "NNXModule", "TorchlikeModule", "from_linen", "from_nnx", "to_nnx"]
