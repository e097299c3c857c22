"""Mask functions, which say of one place (b, h, q_idx, kv_idx) whether it is attended to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torchlike import accelerator
from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._functorch.apis import vmap
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]


def over_scores(mod: Callable[..., Any], with_score: bool) -> Callable[..., Tensor]:
    """Turn a function of one score's place (b, h, q_idx, kv_idx) into a function of all indices of
    each: of four vectors, and of the scores (B, H, Q, KV) before them where it takes the score."""
    first = (0,) if with_score else ()
    for mapped in reversed(range(4)):
        mod = vmap(mod, in_dims=(*first, *(0 if d == mapped else None for d in range(4))))
    return mod


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """True: everything is attended to."""
    return batch.new_ones((), dtype=dtypes.bool)


def sliced_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Refuse to serve as the mask function of a part of a BlockMask: its indices would count from
    the wrong place."""
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. Indexing a BlockMask resets its mask_mod, "
        "for the indices it is asked about then count from the part's start: give the part a "
        "mask_mod made from that of the whole BlockMask (part.mask_mod = shifted(whole.mask_mod))."
    )


def _joined(mods: tuple[Any, ...], start: bool, join: Callable[..., Any]) -> Callable[..., Tensor]:
    if not all(callable(m) for m in mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mods}")

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = _torch["full"]((), start, dtype=dtypes.bool, device=b.device)
        for mod in mods:
            result = join(result, mod(b, h, q_idx, kv_idx))
        return result

    return mask


def and_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Tensor]:
    """Return a mask function that holds where all of these do. Raises RuntimeError for what is no
    function."""
    return _joined(mask_mods, True, lambda x, y: x & y)


def or_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Tensor]:
    """Return a mask function that holds where any of these does. Raises RuntimeError for what is no
    function."""
    return _joined(mask_mods, False, lambda x, y: x | y)


def takes_score(mod: Callable[..., Any]) -> bool:
    """Return whether a function takes the score before the four indices. Raises AssertionError for
    neither."""
    needed = [p for p in inspect.signature(mod).parameters.values() if p.default is p.empty]
    if len(needed) not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {len(needed)}")
    return len(needed) == 5


def mask_device(device: Any) -> Any:
    """Return the device on which a mask is made: ``device``, or unless given the accelerator, or
    else the CPU."""
    return accelerator.current_accelerator() or "cpu" if device is None else device


def create_mask(
    mod_fn: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """Return what a mask function says of every place: (B, H, Q_LEN, KV_LEN), 1 for B or H of None.
    A function of scores is asked about scores of 0: True where it does not give -inf.

    AssertionError for a function that takes neither 4 nor 5 arguments.
    """
    device = mask_device(device)
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    indices = [_torch["arange"](n, device=device) for n in sizes]
    if not takes_score(mod_fn):
        return over_scores(mod_fn, False)(*indices)
    scores = over_scores(mod_fn, True)(_torch["zeros"](sizes, device=device), *indices)
    return ~_torch["isneginf"](scores)
