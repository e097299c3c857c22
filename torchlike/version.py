"""``torch.version``: the PyTorch release that is the reference, and what it was built with."""

from __future__ import annotations

from typing import Final

from torchlike._runtime.reference import FOLLOWED, RELEASES

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

__version__: Final = f"{RELEASES[FOLLOWED]}+torchlike"
debug: Final = False
#: There is no CUDA (HIP, SYCL) code here: JAX brings its own.
cuda: Final[str | None] = None
hip: Final[str | None] = None
xpu: Final[str | None] = None
git_version: Final = ""
