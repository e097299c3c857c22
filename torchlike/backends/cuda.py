"""``torch.backends.cuda``: flags that are kept, without effect on what XLA computes."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from torchlike import cuda as _cuda
from torchlike.backends.attention_kernels import (
    SDPAParams,
    allow_fp16_bf16_reduction_math_sdp,
    can_use_cudnn_attention,
    can_use_efficient_attention,
    can_use_flash_attention,
    cudnn_sdp_enabled,
    enable_cudnn_sdp,
    enable_flash_sdp,
    enable_math_sdp,
    enable_mem_efficient_sdp,
    flash_sdp_enabled,
    fp16_bf16_reduction_math_sdp_allowed,
    is_flash_attention_available,
    math_sdp_enabled,
    mem_efficient_sdp_enabled,
)
from torchlike.backends.cublas import cuBLASModule
from torchlike.backends.cufft import cuFFTPlanCache, cuFFTPlanCacheManager
from torchlike.backends.libraries import (
    is_ck_sdpa_available,
    preferred_blas_library,
    preferred_linalg_library,
    preferred_rocm_fa_library,
)

__all__ = [
    "SDPAParams",
    "allow_fp16_bf16_reduction_math_sdp",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cuBLASModule",
    "cuFFTPlanCache",
    "cuFFTPlanCacheManager",
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_ck_sdpa_available",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "preferred_rocm_fa_library",
    "sdp_kernel",
]


matmul = cuBLASModule()
cufft_plan_cache = cuFFTPlanCacheManager()


def is_built() -> bool:
    """Return whether JAX has a GPU backend."""
    return _cuda.is_available()


@contextlib.contextmanager
def _region(flash: bool, math: bool, mem_efficient: bool, cudnn: bool) -> Iterator[dict[str, Any]]:
    switches = (
        (enable_flash_sdp, flash_sdp_enabled, flash),
        (enable_math_sdp, math_sdp_enabled, math),
        (enable_mem_efficient_sdp, mem_efficient_sdp_enabled, mem_efficient),
        (enable_cudnn_sdp, cudnn_sdp_enabled, cudnn),
    )
    before = [is_enabled() for _, is_enabled, _ in switches]
    try:
        for enable, _, now in switches:
            enable(now)
        yield {}
    finally:
        for (enable, _, _), was in zip(switches, before, strict=True):
            enable(was)


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> contextlib.AbstractContextManager[dict[str, Any]]:
    """Use only some attention kernels in a ``with`` block. The CPU has one. Deprecated:
    ``torch.nn.attention.sdpa_kernel``."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager "
        "will be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context "
        "manager, with updated signature.",
        FutureWarning,
        stacklevel=2,
    )
    return _region(enable_flash, enable_math, enable_mem_efficient, enable_cudnn)
