"""``torch.nn.attention``: which kernel scaled_dot_product_attention may use; flex_attention."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from torchlike._compat.unsupported import functions as _unsupported
from torchlike._ops.nn.attention import kernels
from torchlike.nn.attention import bias as bias

#: A flag scripts set; there are no kernels among which one could fail to be chosen.
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels, and what stands for them here (`sdpa_kernel`)."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_KERNELS = {
    SDPBackend.MATH: "math",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.CUDNN_ATTENTION: "cudnn",
}


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Allow only these attention kernels within a `with` block, on accelerators; the CPU has one.

    Differs from PyTorch: EFFICIENT_ATTENTION is attention in blocks, by an online softmax, in plain
    JAX, and FLASH_ATTENTION JAX's Pallas kernel for TPUs. ``set_priority`` changes nothing: cuDNN's
    comes first, then flash, then blocks. AssertionError for what is no SDPBackend, or a list of
    them.
    """
    given = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, list) or not all(isinstance(b, SDPBackend) for b in given):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances"
        )
    before = {name: get_allowed() for name, (get_allowed, _) in kernels.SWITCHES.items()}
    wanted = {_KERNELS[b] for b in given if b in _KERNELS}
    try:
        for name, (_, set_allowed) in kernels.SWITCHES.items():
            set_allowed(name in wanted)
        yield
    finally:
        for name, (_, set_allowed) in kernels.SWITCHES.items():
            set_allowed(before[name])


def list_flash_attention_impls() -> list[str]:
    """Return an empty list: none of PyTorch's flash kernels can be used."""
    return []


def current_flash_attention_impl() -> str | None:
    """Return None: no flash kernel was put in the place of the default."""
    return None


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Do nothing: the default is in use."""


globals().update(_unsupported("nn.attention"))
