"""``torch.version``: the PyTorch release that is the reference, and what it was built with."""

from __future__ import annotations

from typing import Final

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

__version__: Final = "2.13.0+torchlike"
debug: Final = False
#: There is no CUDA (HIP, SYCL) code here: JAX brings its own.
cuda: Final[str | None] = None
hip: Final[str | None] = None
xpu: Final[str | None] = None
git_version: Final = ""
