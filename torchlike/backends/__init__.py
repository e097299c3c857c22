"""``torch.backends``: flags that scripts set. XLA chooses its own algorithms, so they change
nothing; they keep the values they are given.

Imports `_compat`, which holds the settings, and `cuda`. Begin with ``cudnn.py``, as plain as most;
``device_modules.py`` makes the modules that are only names.
"""

from __future__ import annotations

from torchlike.backends import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)
from torchlike.backends.frozen import disable_global_flags, flags_frozen

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "disable_global_flags",
    "flags_frozen",
    "kleidiai",
    "mha",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
    "xnnpack",
]
