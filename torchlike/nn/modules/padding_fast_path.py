"""The padding fast path: an encoder in evaluation without gradients leaves padding out.

PyTorch packs the sequences into nested tensors there, and what comes out is padded with zeros. Here
the layers see all positions with the padding masked, which gives the others the same values, and
padded positions are set to zero before the last norm. The outputs are not those of training mode,
so a mean over positions depends on whether this happens; the conditions are therefore PyTorch's.
"""

from __future__ import annotations

from typing import Any

from torchlike._core import modes
from torchlike._ops.creation.sequences import arange
from torchlike.autograd.grad_mode import is_grad_enabled
from torchlike.tensor import Tensor

_enabled = True


def set_fastpath_enabled(value: bool) -> None:
    """Set whether encoders may leave padding out."""
    global _enabled
    _enabled = value


def get_fastpath_enabled() -> bool:
    """Return whether encoders may leave padding out, as ``set_fastpath_enabled`` said; True at
    first."""
    return _enabled


def has_padding_fast_path(layer: Any, layer_type: type) -> bool:
    """Return whether an encoder of copies of this layer leaves padding out at all; asked once, when
    it is made."""
    return (
        isinstance(layer, layer_type)
        and not layer.norm_first
        and layer.self_attn.batch_first
        and layer.self_attn._qkv_same_embed_dim
        and layer.self_attn.in_proj_bias is not None
        and bool(layer.activation_relu_or_gelu)
        and layer.norm1.eps == layer.norm2.eps
        and layer.self_attn.num_heads % 2 == 0
    )


def _wants_gradients(layer: Any, src: Tensor) -> bool:
    parts = (layer.self_attn.out_proj, layer.norm1, layer.norm2, layer.linear1, layer.linear2)
    tensors = [src, layer.self_attn.in_proj_weight, layer.self_attn.in_proj_bias]
    tensors += [t for part in parts for t in (part.weight, part.bias)]
    return is_grad_enabled() and any(t.requires_grad for t in tensors)


def padded_positions(encoder: Any, src: Tensor, mask: Any, padding: Tensor | None) -> Tensor | None:
    """Return which positions (N, S) this call of an encoder leaves out, or None where it leaves out
    none.

    The sequences are as long as they have positions that are kept. Unless ``mask_check`` is off,
    those must come first; while a function is captured that cannot be asked, and PyTorch, too,
    leaves nothing out under its compiler, nor under autocast for CUDA (with that for the CPU its
    kernel fails).
    """
    layer, autocast = encoder.layers[0], modes.current.autocast
    if (
        padding is None
        or mask is not None
        or not getattr(encoder, "use_nested_tensor", False)
        or not _enabled
        or layer.training
        or src.dim() != 3
        or (autocast is not None and autocast.device == "cuda")
        or _wants_gradients(layer, src)
    ):
        return None
    check = getattr(encoder, "mask_check", True)
    if check and modes.is_capturing():
        return None
    padded = padding != 0
    lengths = padded.logical_not().sum(1, keepdim=True)
    beyond = arange(padded.shape[1], device=padded.device) >= lengths
    return None if check and not beyond.equal(padded) else beyond
