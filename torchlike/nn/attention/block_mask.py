"""Which blocks of an attention matrix are attended to.

A matrix of scores (Q_LEN, KV_LEN) is cut into blocks. Of each row of blocks are kept the numbers
of those that hold something (``kv_num_blocks``, ``kv_indices``, the unused rest behind them), and
apart from them those that are attended to whole (``full_kv_…``), where the mask function need not
be asked. ``q_…`` is the same read by columns.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

from torchlike._core import dtypes, modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._runtime.reference import follows
from torchlike.nn.attention.masks import (
    mask_device,
    noop_mask,
    over_scores,
    sliced_mask,
    takes_score,
)
from torchlike.tensor import Tensor

__all__ = ["BlockMask", "create_block_mask"]

_torch = NAMESPACES[""]
_pad = NAMESPACES["nn.functional"]["pad"]

DEFAULT_BLOCK_SIZE = 128
#: Places that a mask function is asked about at once.
_BAND = 2**23
_TENSORS_TEXT = """
kv_num_blocks kv_indices full_kv_num_blocks full_kv_indices q_num_blocks q_indices
full_q_num_blocks full_q_indices dq_write_order dq_write_order_full dq_kv_order
"""
_TENSORS = tuple(_TENSORS_TEXT.split())


def _to_ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """Return how many blocks of each row are marked, and the numbers of all: those marked first."""
    dense = dense.to(dtypes.int32)
    order = _torch["argsort"](dense, dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(dtypes.int32), order.to(dtypes.int32)


def _to_dense(count: Tensor, indices: Tensor) -> Tensor:
    """Return an int32 tensor (…, rows, columns): 1 where a row names a block, 0 elsewhere."""
    columns = indices.shape[-1]
    named = _torch["arange"](columns, device=indices.device) < count.unsqueeze(-1)
    at = _torch["where"](named, indices, columns).to(dtypes.int64)  # the others: one place too far
    dense = indices.new_zeros((*indices.shape[:-1], columns + 1), dtype=dtypes.int32)
    return dense.scatter(-1, at, 1)[..., :columns]


def _by_columns(count: Tensor | None, indices: Tensor | None) -> tuple[Any, Any]:
    if count is None or indices is None:
        return None, None
    return _to_ordered(_to_dense(count, indices).transpose(-2, -1))


def _pair(block_size: Any) -> tuple[int, int]:
    return (block_size, block_size) if isinstance(block_size, int) else tuple(block_size)


class BlockMask:
    """A block-sparse mask: the tensors of blocks, ``BLOCK_SIZE`` (queries, keys), ``seq_lengths``
    (Q_LEN, KV_LEN), and ``mask_mod``, which decides inside the blocks that are not full.

    RuntimeError for indices of fewer than 2 dimensions; AssertionError where one of two tensors
    that belong together is missing.

    Differs from PyTorch: ``_adjust`` counts the blocks that are left; the orders in which dq is
    written (``dq_…``), which kernels of one GPU take, are kept but mean nothing.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any,
        full_kv_indices: Any,
        q_num_blocks: Any,
        q_indices: Any,
        full_q_num_blocks: Any,
        full_q_indices: Any,
        BLOCK_SIZE: tuple[int, int] = (DEFAULT_BLOCK_SIZE, DEFAULT_BLOCK_SIZE),
        mask_mod: Callable[..., Any] = noop_mask,
        *,
        dq_write_order: Any = None,
        dq_write_order_full: Any = None,
        dq_kv_order: Any = None,
        dq_kv_order_spt: Any = None,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if kv_num_blocks is None:
            raise AssertionError("kv_num_blocks must be provided")
        for side, count, indices in (
            ("kv", full_kv_num_blocks, full_kv_indices),
            ("q", full_q_num_blocks, full_q_indices),
        ):
            if (count is None) != (indices is None):
                raise AssertionError(
                    f"full_{side}_num_blocks and full_{side}_indices must be both "
                    "provided or omitted"
                )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.dq_write_order, self.dq_write_order_full = dq_write_order, dq_write_order_full
        self.dq_kv_order, self.dq_kv_order_spt = dq_kv_order, dq_kv_order_spt
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: Any = DEFAULT_BLOCK_SIZE,
        mask_mod: Callable[..., Any] | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
        *,
        dq_write_order: Any = None,
        dq_write_order_full: Any = None,
        dq_kv_order: Any = None,
    ) -> BlockMask:
        """Return a mask of the blocks that each row names (…, rows) and (…, rows, columns);
        sequences are as long as the blocks unless ``seq_lengths`` says less."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both provided or omitted"
            )
        q: tuple[Any, ...] = (None, None, None, None)
        if compute_q_blocks:
            q = (
                *_by_columns(kv_num_blocks, kv_indices),
                *_by_columns(full_kv_num_blocks, full_kv_indices),
            )
        size = _pair(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        given = isinstance(dq_kv_order, bool)
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *q,
            BLOCK_SIZE=size,
            mask_mod=mask_mod or noop_mask,
            dq_write_order=dq_write_order,
            dq_write_order_full=dq_write_order_full,
            dq_kv_order=None if given else dq_kv_order,
            dq_kv_order_spt=dq_kv_order if given else None,
        )

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Return lengths, tensors, block sizes and mask function; the pairs are taken apart if
        ``flatten``."""
        ends = (self.seq_lengths, self.BLOCK_SIZE)
        lengths, sizes = ends if flatten else ((ends[0],), (ends[1],))
        tensors = (getattr(self, name) for name in _TENSORS)
        return (*lengths, *tensors, self.dq_kv_order_spt, *sizes, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(…, Q_LEN, KV_LEN)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """Return how many scores there are, masked or not."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Return the percentage of the scores that lie in blocks masked whole; of the blocks, where
        PyTorch 2.14 is followed."""
        kept = self.kv_num_blocks.sum()
        if self.full_kv_num_blocks is not None:
            kept = kept + self.full_kv_num_blocks.sum()
        if not follows("sparsity counts blocks"):
            return 100 * (1 - kept.item() * math.prod(self.BLOCK_SIZE) / self.numel())
        blocks = (-(-n // size) for n, size in zip(self.seq_lengths, self.BLOCK_SIZE, strict=True))
        return 100 * (1 - kept.item() / math.prod((*self.kv_num_blocks.shape[:-1], *blocks)))

    def to_dense(self) -> Tensor:
        """Return an int32 tensor (…, rows, columns): 1 for each block that holds something."""
        partial = _to_dense(self.kv_num_blocks, self.kv_indices)
        full = self.full_blocks()
        return partial if full is None else partial | full

    def full_blocks(self) -> Tensor | None:
        """Return 1 for each block attended to whole, or None where they are not told apart."""
        if self.full_kv_num_blocks is None:
            return None
        return _to_dense(self.full_kv_num_blocks, self.full_kv_indices)

    def _build(self, partial: tuple[Any, Any], full: tuple[Any, Any], **facts: Any) -> BlockMask:
        return self.from_kv_blocks(
            *partial,
            *full,
            BLOCK_SIZE=self.BLOCK_SIZE,
            compute_q_blocks=self.q_indices is not None,
            **facts,
        )

    def __getitem__(self, index: Any) -> BlockMask:
        """Return the mask of some batches, heads and rows of blocks; an int keeps its dimension.
        The part has the lengths of the whole (where PyTorch 2.14 is followed, that of the rows that
        are left), and its ``mask_mod`` has to be set before use."""
        if self.dq_kv_order is not None:
            raise NotImplementedError(
                "Slicing BlockMask with tensor dq_kv_order is not supported "
                "yet. Make the part without it."
            )
        asked = index if isinstance(index, tuple) else (index,)
        if len(asked) > 3 and follows("parts of block masks are as long as their rows"):
            raise IndexError("BlockMask indexing supports batch, head, and Q-block dimensions")
        given = (*asked, *[slice(None)] * 3)[:3]
        sizes = self.kv_num_blocks.shape[:3]
        at = tuple(
            [
                slice(i % n, i % n + 1)
                if isinstance(i, int) and -n <= i < n
                else slice(i, i + 1)
                if isinstance(i, int)
                else i
                for i, n in zip(given[: len(sizes)], sizes, strict=True)
            ]
        )
        full = (self.full_kv_num_blocks, self.full_kv_indices)
        blocks = self.kv_indices[at]
        lengths = self.seq_lengths
        if follows("parts of block masks are as long as their rows"):
            lengths = (self._length_of(at[2], blocks.shape[-2]), lengths[1])
        return self._build(
            (self.kv_num_blocks[at], blocks),
            full if full[0] is None else (full[0][at], full[1][at]),
            mask_mod=sliced_mask,
            seq_lengths=lengths,
        )

    def _length_of(self, rows: Any, count: int) -> int:
        """Return how many queries are in some rows of blocks. A tensor's are not looked at: each of
        the ``count`` counts whole."""
        whole, size = self.seq_lengths[0], self.BLOCK_SIZE[0]
        if not isinstance(rows, slice):
            return count * size
        taken = range(self.kv_num_blocks.shape[-1])[rows]
        return sum(max(0, min(size, whole - row * size)) for row in taken)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """Return the upper left corner of the mask, for shorter sequences."""
        rows, columns = (
            -(-n // b) for n, b in zip((new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True)
        )
        partial = _to_dense(self.kv_num_blocks, self.kv_indices)[..., :rows, :columns]
        full = self.full_blocks()
        return self._build(
            _to_ordered(partial),
            (None, None) if full is None else _to_ordered(full[..., :rows, :columns]),
            mask_mod=self.mask_mod,
            seq_lengths=(new_q_len, new_kv_len),
        )

    def to(self, device: Any) -> BlockMask:
        """Return the mask with its tensors moved to another device."""
        tensors = {name: getattr(self, name) for name in _TENSORS}
        moved = {name: t if t is None else t.to(device) for name, t in tensors.items()}
        return BlockMask(
            self.seq_lengths,
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            dq_kv_order_spt=self.dq_kv_order_spt,
            **moved,
        )

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """Return a picture of each batch and head (of ``limit`` of them): full cells for blocks,
        light ones where a cell stands for several blocks of which some are masked.

        grid_size: the most rows and columns of cells; -1 for a cell for each block.
        """
        dense = self.to_dense().numpy()
        most = dense.shape[-2:] if grid_size == -1 else _pair(grid_size)
        steps = [max(1, -(-n // m)) for n, m in zip(dense.shape[-2:], most, strict=True)]
        pictures = []
        for number, place in enumerate(itertools.product(*map(range, dense.shape[:-2]))):
            if number == limit:
                pictures += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or "
                    "head",
                ]
                break
            picture = f"{place}\n"
            for r in range(0, dense.shape[-2], steps[0]):
                for c in range(0, dense.shape[-1], steps[1]):
                    share = dense[place][r : r + steps[0], c : c + steps[1]].mean()
                    picture += 2 * ("█" if share == 1 else " " if share == 0 else "░")
                picture += "\n"
            pictures.append(picture)
        return "\n".join(pictures)

    def __str__(self) -> str:
        what = f"shape={self.shape}, sparsity={self.sparsity():.2f}%"
        return f"BlockMask({what}, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        shapes = {n: getattr(self, n) for n in _TENSORS[:8]}
        facts = {n: t if t is None else t.shape for n, t in shapes.items()} | {
            "BLOCK_SIZE": self.BLOCK_SIZE,
            "shape": self.shape,
            "sparsity": f"{self.sparsity():.2f}%",
            "mask_mod": getattr(self.mask_mod, "__name__", self.mask_mod),
        }
        return "BlockMask(\n" + ",\n".join(f"    {n}={x}" for n, x in facts.items()) + "\n)"


def _held(
    mask_mod: Callable[..., Any],
    sizes: tuple[int, int, int, int],
    block: tuple[int, int],
    device: Any,
) -> Tensor:
    """Return how many places of each block a mask function keeps: (B, H, rows of blocks, columns of
    blocks). The function is asked about bands of whole blocks, so that the mask is never in memory
    as one; in a program XLA sums places as they are computed."""
    (batch, heads, length, across), (rows, columns) = sizes, block
    band = length
    if not modes.is_capturing():
        band = rows * max(1, _BAND // max(1, batch * heads * rows * across))
    device = mask_device(device)
    b, h, column = (_torch["arange"](n, device=device) for n in (batch, heads, across))
    found = []
    for start in range(0, max(length, 1), max(band, 1)):
        row = _torch["arange"](start, min(start + band, length), device=device)
        mask = over_scores(mask_mod, False)(b, h, row, column)
        if mask.dtype is not dtypes.bool:
            raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
        padded = _pad(mask, (0, -across % columns, 0, -row.shape[0] % rows))
        found.append(padded.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).sum((-3, -1)))
    return found[0] if len(found) == 1 else _torch["cat"](found, 2)


def create_block_mask(
    mask_mod: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """Return the BlockMask of a mask function, which is asked about every place.

    AssertionError for a function that does not take (b, h, q_idx, kv_idx) and give bools;
    NotImplementedError for ``compute_dq_write_order``, an order for kernels of one GPU.
    """
    if takes_score(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if compute_dq_write_order:
        raise NotImplementedError(
            "create_block_mask(compute_dq_write_order=True): XLA orders its sums itself. Use "
            "instead: compute_dq_write_order=False."
        )
    if _compile:
        warnings.warn(
            "_compile flag on create_block_mask was originally added to work around a "
            "torch.compile limitation. Compile create_block_mask instead.",
            DeprecationWarning,
            stacklevel=2,
        )
    rows, columns = _pair(BLOCK_SIZE)
    held = _held(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), (rows, columns), device)
    if separate_full_blocks:
        full = held == rows * columns
        partial, whole = _to_ordered((held > 0) & ~full), _to_ordered(full)
    else:
        partial, whole = _to_ordered(held > 0), (None, None)
    return BlockMask.from_kv_blocks(
        *partial,
        *whole,
        BLOCK_SIZE=(rows, columns),
        mask_mod=mask_mod,
        seq_lengths=(Q_LEN, KV_LEN),
    )
