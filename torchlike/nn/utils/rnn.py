"""Sequences of different lengths: padding them, and packing them without the padding.

A packed batch holds, step after step, the rows of the sequences that still run, longest sequence
first. ``abc``, ``xy`` and ``m`` are packed as ``a x m b y c`` with batch sizes 3, 2, 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from torchlike._core import dtypes
from torchlike._core.layouts import contiguous_format
from torchlike._core.storage import device_array
from torchlike._ops.shape.joining import cat
from torchlike._runtime import x64
from torchlike.tensor import Tensor, wrap

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

_UNKNOWN_LENGTHS = "packing outside the jitted function"


def _from_numpy(values: Any) -> Tensor:
    x64.require()
    return wrap(device_array(np.asarray(values, np.int64)))


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """A packed batch; made by pack_padded_sequence and pack_sequence, taken by RNN, LSTM, GRU.

    Attributes:
      data: (sum of lengths, *).
      batch_sizes: int64, how many sequences still run at each step.
      sorted_indices: the order in which the sequences were sorted by length, or None.
      unsorted_indices: its inverse.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Any:
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move or convert ``data`` as Tensor.to does; return this sequence itself when nothing
        changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        order, back = (
            None if t is None else t.to(data.device)
            for t in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, order, back)

    def cpu(self) -> PackedSequence:
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to("cuda", *args, **kwargs)

    def pin_memory(self) -> PackedSequence:
        return self

    def double(self) -> PackedSequence:
        return self.to(dtypes.float64)

    def float(self) -> PackedSequence:
        return self.to(dtypes.float32)

    def half(self) -> PackedSequence:
        return self.to(dtypes.float16)

    def long(self) -> PackedSequence:
        return self.to(dtypes.int64)

    def int(self) -> PackedSequence:
        return self.to(dtypes.int32)

    def short(self) -> PackedSequence:
        return self.to(dtypes.int16)

    def char(self) -> PackedSequence:
        return self.to(dtypes.int8)

    def byte(self) -> PackedSequence:
        return self.to(dtypes.uint8)

    @property
    def is_cuda(self) -> Any:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes this one."""
    return None if permutation is None else permutation.argsort()


def _lengths_of(lengths: Any) -> np.ndarray:
    if isinstance(lengths, Tensor):
        lengths = lengths._value("pack_padded_sequence", _UNKNOWN_LENGTHS)
    return np.asarray(lengths, np.int64)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: Any = False, enforce_sorted: Any = True
) -> PackedSequence:
    """Pack a padded batch (T, B, *), or (B, T, *) with ``batch_first``.

    Args:
      lengths: how long each sequence is; their values are needed, so not inside a jitted function.
      enforce_sorted: lengths must be decreasing (RuntimeError otherwise); False sorts them.

    Differs from PyTorch
      A length beyond the padded one is refused. There, ``batch_sizes`` counts rows that ``data``
      has not.
    """
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    n = _lengths_of(lengths)
    if n.ndim != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {n.ndim}D cpu Long tensor"
        )
    order = None
    if not enforce_sorted:
        places = np.argsort(-n, kind="stable")
        n = n[places]
        order = _from_numpy(places)
        input = input.index_select(0 if batch_first else 1, order)
    x = input.transpose(0, 1) if batch_first else input
    steps, batch = x.shape[:2]
    if n.size != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {n.size} (batch_size="
            f"{batch})"
        )
    if n[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if (np.diff(n) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if n[0] > steps:
        raise RuntimeError(
            f"Expected `len(lengths)` to be at most the padded length {steps}, but got {n[0]}"
        )
    running = np.arange(n[0])[:, None] < n
    rows = _from_numpy(np.flatnonzero(running))
    flat = x[: int(n[0])].reshape(-1, *x.shape[2:])
    return PackedSequence(flat.index_select(0, rows), _from_numpy(running.sum(1)), order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: Any = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the padded batch and the lengths again, in the original order.

    ValueError when ``total_length`` is less than the longest sequence.
    """
    sizes = sequence.batch_sizes._value("pad_packed_sequence", _UNKNOWN_LENGTHS)
    steps = sizes.size
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    data, batch = sequence.data, int(sizes[0])
    # One more row, of padding, stands behind the data; each place of the result takes a row.
    place = np.full((steps, batch), data.shape[0])
    running = np.arange(batch) < sizes[:, None]
    place[: sizes.size][running] = np.arange(data.shape[0])
    lengths = running.sum(0)
    columns = np.arange(batch)
    swap = batch_first
    if sequence.unsorted_indices is not None:
        columns = sequence.unsorted_indices._value("pad_packed_sequence", _UNKNOWN_LENGTHS)
        # Where PyTorch reorders the batch it makes a copy, with the batch first if asked for.
        place, swap = (place.T[columns] if batch_first else place[:, columns]), False
    padding = data.new_full((1, *data.shape[1:]), padding_value)
    rows = cat([data, padding]).index_select(0, _from_numpy(place.reshape(-1)))
    padded = rows.reshape(*place.shape, *data.shape[1:])
    # Not reordered it is a view of steps by batch, not contiguous, as PyTorch's is.
    return padded.transpose(0, 1) if swap else padded, _from_numpy(lengths[columns])


def pad_sequence(
    sequences: Any,
    batch_first: Any = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack tensors (L, *) of different L into (T, B, *), or (B, T, *) with ``batch_first``."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    parts = list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    longest = max(p.size(0) for p in parts)
    rows = []
    for p in parts:
        missing = longest - p.size(0)
        if missing:
            padding = p.new_full((missing, *p.shape[1:]), padding_value)
            p = cat([p, padding] if padding_side == "right" else [padding, p])
        rows.append(p.unsqueeze(0 if batch_first else 1))
    return cat(rows, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: Any = False
) -> list[Tensor]:
    """Return the sequences of a padded batch, without the padding."""
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    # Copies, as PyTorch's are: they keep no padding, and may be written into.
    return [
        x[i, : int(n)].clone(memory_format=contiguous_format)
        for i, n in enumerate(_lengths_of(lengths))
    ]


def pack_sequence(sequences: Any, enforce_sorted: Any = True) -> PackedSequence:
    """Pack a list of tensors (L, *) of different L."""
    parts = list(sequences)
    lengths = [p.size(0) for p in parts]
    return pack_padded_sequence(pad_sequence(parts), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
