"""``torch.utils.cpp_extension``: where scripts ask for CUDA's compiler before they use it. What
compiles is refused (``torchlike/_compat/unsupported.py``)."""

from __future__ import annotations

__all__ = ["CUDA_HOME", "ROCM_HOME"]

#: No source is compiled, so no compiler is looked for.
CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
