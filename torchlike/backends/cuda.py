"""``torch.backends.cuda``: accepted flags without effect."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from torchlike import cuda as _cuda


class _Flags:
    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = _Flags()


def is_built() -> bool:
    """Whether JAX has a GPU backend."""
    return _cuda.is_available()


@contextlib.contextmanager
def _region() -> Iterator[dict[str, Any]]:
    yield {}


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> contextlib.AbstractContextManager[dict[str, Any]]:  # fmt: skip
    """A region in which only some attention kernels may be used: it changes nothing, for XLA
    compiles the one there is. Deprecated: ``torch.nn.attention.sdpa_kernel``."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager "
        "will be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context "
        "manager, with updated signature.", FutureWarning, stacklevel=2,
    )  # fmt: skip
    return _region()
