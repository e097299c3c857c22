"""Which attention kernels may be chosen (``torchlike/_ops/nn/attention/kernels.py`` chooses), and
the question whether one of PyTorch's own can be used, which are not here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torchlike._ops.nn.attention.kernels import SWITCHES
from torchlike.tensor import Tensor

_reduces_in_16_bits = False


class SDPAParams(NamedTuple):
    """The arguments of scaled_dot_product_attention, for the questions ``can_use_…``."""

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None
    dropout: float
    is_causal: bool
    enable_gqa: bool


def _switch(kernel: str) -> tuple[Callable[[Any], None], Callable[[], bool]]:
    get_allowed, set_allowed = SWITCHES[kernel]

    def enable(enabled: bool) -> None:
        set_allowed(bool(enabled))

    def enabled() -> bool:
        return get_allowed()

    enable.__name__ = enable.__qualname__ = f"enable_{kernel}_sdp"
    enabled.__name__ = enabled.__qualname__ = f"{kernel}_sdp_enabled"
    enable.__doc__ = (
        f"Say whether accelerators may take the {kernel} kernel for attention, or what stands for "
        "it here; the CPU has one."
    )
    enabled.__doc__ = f"What ``{enable.__name__}`` was told; True at first."
    return enable, enabled


enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Keep whether sums of 16-bit attention may be in 16 bits: here they are in float32."""
    global _reduces_in_16_bits
    _reduces_in_16_bits = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Return the value that ``allow_fp16_bf16_reduction_math_sdp`` was told; False at first."""
    return _reduces_in_16_bits


def is_flash_attention_available() -> bool:
    """Return False: PyTorch's kernel is not there."""
    return False


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return False. TypeError for what is no SDPAParams."""
    if not isinstance(params, SDPAParams):
        raise TypeError(f"expected SDPAParams, got {type(params).__name__}")
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention
