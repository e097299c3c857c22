"""``torch.backends``: flags that scripts set. XLA chooses its own algorithms, so they change
nothing; they keep the values they are given."""

from __future__ import annotations

from torchlike.backends import cuda, cudnn, mha, mkl, mkldnn, mps, openmp

__all__ = ["cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp"]
