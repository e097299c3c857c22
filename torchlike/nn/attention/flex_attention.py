"""``torch.nn.attention.flex_attention``: attention whose scores a Python function changes.

The functions are asked about single scores, so they are mapped over all of them by four levels of
``vmap``, as in PyTorch's reference; a tensor they read (``bias[h]``, ``document[q_idx]``) becomes a
gather, and its gradient a scatter.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, NotRequired, TypedDict

from torchlike._core import dtypes, modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.errors import warn_once
from torchlike._jit.call.entry import compiled
from torchlike._ops.nn.attention.attention import modified_attention_op
from torchlike._runtime.reference import follows
from torchlike.amp.autocast_mode import (
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
)
from torchlike.nn.attention import blocks
from torchlike.nn.attention.block_mask import DEFAULT_BLOCK_SIZE as _DEFAULT_SPARSE_BLOCK_SIZE
from torchlike.nn.attention.block_mask import BlockMask, create_block_mask
from torchlike.nn.attention.changed_scores import changed_scores
from torchlike.nn.attention.masks import (
    and_masks,
    create_mask,
    noop_mask,
    or_masks,
    sliced_mask,
)
from torchlike.tensor import Tensor

__all__ = [
    "_DEFAULT_SPARSE_BLOCK_SIZE",
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_torch = NAMESPACES[""]
_BACKENDS = ("AUTO", "TRITON", "FLASH", "TRITON_DECODE")


class FlexKernelOptions(TypedDict, total=False):
    """How PyTorch's kernels for GPUs are built. XLA makes its own: accepted, without effect."""

    num_warps: NotRequired[int]
    num_stages: NotRequired[int]
    BLOCK_M: NotRequired[int]
    BLOCK_N: NotRequired[int]
    BLOCK_M1: NotRequired[int]
    BLOCK_N1: NotRequired[int]
    BLOCK_M2: NotRequired[int]
    BLOCK_N2: NotRequired[int]
    PRESCALE_QK: NotRequired[bool]
    ROWS_GUARANTEED_SAFE: NotRequired[bool]
    BLOCKS_ARE_CONTIGUOUS: NotRequired[bool]
    WRITE_DQ: NotRequired[bool]
    FORCE_USE_FLEX_ATTENTION: NotRequired[bool]
    USE_TMA: NotRequired[bool]
    kpack: NotRequired[int]
    matrix_instr_nonkdim: NotRequired[int]
    waves_per_eu: NotRequired[int]
    BACKEND: NotRequired[str]


class AuxRequest(NamedTuple):
    """What to give beside the output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """``lse``, the logarithm of the sum of exponentials, and ``max_scores``, the greatest score of
    each row, both (B, Hq, L) in float32 or wider; None what was not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def _check(query: Tensor, key: Tensor, value: Tensor, gqa: Any, block_mask: Any) -> None:
    devices = [t.device.type for t in (query, key, value)]
    if len(set(devices)) > 1:
        raise ValueError(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{query.device}, key.device: {key.device}, and value.device: {value.device} instead."
        )
    dims = [t.dim() for t in (query, key, value)]
    if min(dims) < 2:
        raise ValueError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{dims[0]}, key.dim: {dims[1]} and value.dim: {dims[2]} instead."
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.shape[-1]} and E={key.shape[-1]}."
        )
    if dims != [4, 4, 4]:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, shared = query.shape[1], key.shape[1]
    if not gqa and heads != shared:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={shared}. Try setting enable_gqa=True for GQA."
        )
    if heads % shared:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={shared}."
        )
    if key.shape[:3] != value.shape[:3]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: "
            f"{[key.shape[0] * shared, key.shape[2]]} but got: "
            f"{[value.shape[0] * value.shape[1], value.shape[2]]}."
        )
    if query.shape[0] != key.shape[0]:
        _check_batches(query.shape[0], key.shape[0], block_mask)


def _check_batches(queries: int, keys: int, block_mask: BlockMask | None) -> None:
    either = "Expect query and key/value to have the same batch size, or "
    if block_mask is None:
        raise ValueError(
            f"{either}non-none block_mask, but got block_mask=None, Bq={queries}, and Bkv={keys}."
        )
    if block_mask.kv_num_blocks.shape[0] != queries:
        raise ValueError(
            f"{either}block_mask and query to have the same batch size, but got Bq={queries}, "
            f"Bkv={keys}, B_block_mask={block_mask.kv_num_blocks.shape[0]}."
        )
    if keys != 1:
        raise RuntimeError(f"Bq and Bkv must broadcast. Got Bq={queries} and Bkv={keys}")


def _check_lengths(block_mask: BlockMask, queries: int, keys: int) -> None:
    if block_mask.mask_mod is sliced_mask:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    rows, columns = block_mask.shape[-2:]
    made = (
        f"block_mask was created for block_mask.shape={block_mask.shape} but got "
        f"q_len={queries} and kv_len={keys}. As the block mask"
    )
    error: type[Exception] = ValueError
    if follows("block masks of other lengths"):
        made, error = "block_mask", RuntimeError
    if queries > rows or keys > columns:
        raise error(
            f"{made} was created for a smaller length than you're using it for, you likely "
            "need to create a new block mask."
        )
    if (queries, keys) != (rows, columns):
        raise error(
            f"{made} was created for a larger length than you're using it for, you can "
            "either 1. create a new block mask with the correct length, or 2. 'adjust' "
            "the existing block mask to the correct length by calling "
            "block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the "
            "upper left corner, which does not work for all mask_mods!"
        )


def _check_options(options: Any) -> None:
    if not options:
        return
    unknown = options.keys() - FlexKernelOptions.__annotations__.keys()
    if unknown & {"OUTPUT_LOGSUMEXP", "OUTPUT_MAX"}:
        raise AssertionError(f"{sorted(unknown)[0]} must not be in kernel_options")
    if options.get("BACKEND", "AUTO") not in _BACKENDS:
        raise ValueError(
            f"Invalid BACKEND value '{options['BACKEND']}'. Must be one of {_BACKENDS}"
        )
    if "BACKEND" in options and options.get("FORCE_USE_FLEX_ATTENTION"):
        raise RuntimeError(
            "BACKEND cannot be combined with legacy FORCE_USE_FLEX_ATTENTION. Give only the "
            "BACKEND."
        )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Compute attention with scores changed by a function: query (B, Hq, L, E), key (B, Hkv, S, E),
    value (B, Hkv, S, Ev) give (B, Hq, L, Ev). ("Flex Attention", Dong et al. 2024.)

    Args:
      score_mod: ``(score, b, h, q_idx, kv_idx) -> score``, all 0-dim; tensors it reads get
        gradients too.
      block_mask: what is attended to; None for everything. Rows masked whole give 0, lse -inf.
      scale: what ``query @ key.T`` is multiplied by; 1 / sqrt(E) unless given.
      enable_gqa: groups of query heads share key and value heads (Hq a multiple of Hkv).
      return_lse: give (output, lse); deprecated for ``return_aux=AuxRequest(lse=True)``, which
        gives (output, AuxOutput).
      kernel_options: accepted, without effect.

    ValueError for sizes that do not fit; NotImplementedError for other than 4 dimensions.

    Where a head has 262,144 scores or more (4,194,304 on the CPU), they are made a block at a time,
    in forward and backward: memory grows with L and not with L x S, and blocks that a mask hides
    whole are skipped.

    Differs from PyTorch: backward and ``max_scores`` work on CPU; outside of a compiled function
    the blocks count as well as ``mask_mod``, as in PyTorch's kernels; short sequences are computed
    whole, hidden blocks too. A compiled function that is given another BlockMask is compiled anew:
    make masks of changing tensors inside it. So are, called eagerly on long sequences, other
    functions than before: keep them, instead of defining them at each call.
    """
    _check(query, key, value, enable_gqa, block_mask)
    if block_mask is not None:
        _check_lengths(block_mask, query.shape[2], key.shape[2])
        if query.device != block_mask.kv_num_blocks.device:
            raise RuntimeError(
                "Expect q/k/v and block_mask to be on the same device but got "
                f"{query.device} and {block_mask.kv_num_blocks.device}."
            )
    _check_options(kernel_options)
    if return_lse:
        if return_aux is not None:
            raise ValueError(
                "Cannot specify both return_lse and return_aux. return_lse is "
                "deprecated, please use return_aux=AuxRequest(lse=True) "
                "instead."
            )
        warn_once(
            "return_lse is deprecated, use return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
            stacklevel=2,
        )
    kind = query.device.type
    if is_autocast_available(kind) and is_autocast_enabled(kind):
        low = get_autocast_dtype(kind)
        query, key, value = (t.to(low) for t in (query, key, value))
    out, lse, greatest = _attended(query, key, value, score_mod, block_mask, scale)
    if return_aux is not None:
        return out, AuxOutput(
            lse if return_aux.lse else None, greatest if return_aux.max_scores else None
        )
    return (out, lse) if return_lse else out


def _attended(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Any, block_mask: Any, scale: float | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the result of attention, the logarithms of the sums, and the greatest score of each
    row."""
    if not blocks.is_long(query, key):
        scores = _scores(query, key, scale)
        indices = [_torch["arange"](n, device=query.device) for n in scores.shape]
        scores = changed_scores(score_mod, block_mask, scores, indices)
        out, lse = modified_attention_op(scores, _for_all_heads(value, query), query.dtype)
        return out, lse, scores.detach().amax(-1)
    if modes.is_capturing():
        return blocks.attend(query, key, value, score_mod, block_mask, _factor(query, scale))
    # In blocks the functions are part of a loop's body, which only a capture can trace.
    return _compiled(score_mod, block_mask, scale)(query, key, value)


@functools.lru_cache(maxsize=8)
def _compiled(score_mod: Any, block_mask: Any, scale: float | None) -> Callable[..., Any]:
    """Return `_attended` compiled for these functions: the program keeps what they read alive, so
    few are kept."""

    def flex_attention(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return _attended(query, key, value, score_mod, block_mask, scale)

    return compiled(flex_attention, warmup=0)  # it cannot run eagerly meanwhile


def _for_all_heads(t: Tensor, query: Tensor) -> Tensor:
    groups = query.shape[1] // t.shape[1]
    return t if groups == 1 else t.repeat_interleave(groups, dim=1)


def _scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
    """Return the scores (B, Hq, L, S), in float32 or wider."""
    wide = dtypes.float64 if query.dtype is dtypes.float64 else dtypes.float32
    keys = _for_all_heads(key, query).to(wide)
    return (query.to(wide) @ keys.transpose(-2, -1)) * _factor(query, scale)


def _factor(query: Tensor, scale: float | None) -> float:
    return 1 / math.sqrt(query.shape[-1]) if scale is None else scale
