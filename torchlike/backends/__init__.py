"""``torch.backends``: flags that scripts set. XLA chooses its own algorithms, so they change
nothing; they keep the values they are given."""

from __future__ import annotations

from torchlike.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, openmp
from torchlike.backends.frozen import disable_global_flags, flags_frozen

__all__ = ["cpu", "cuda", "cudnn", "disable_global_flags", "flags_frozen", "mha", "mkl", "mkldnn",
           "mps", "openmp"]  # fmt: skip
