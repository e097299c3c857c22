"""PowerSGD: gradients travel as products of two thin matrices (Vogels et al., 2019).

A matrix M of gradients becomes P Qᵀ of a small rank: P is M Q, summed over the processes and made
orthogonal; Q is Mᵀ P, averaged. What the product misses is added to the next step's gradients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._core import modes
from torchlike._ops.linalg.decompositions import qr
from torchlike._ops.shape.joining import cat, stack
from torchlike.distributed import collectives
from torchlike.distributed.algorithms.ddp_comm_hooks.default_hooks import averaged, done
from torchlike.distributed.groups import ProcessGroup, _get_default_group, member
from torchlike.futures import Future
from torchlike.random import Generator
from torchlike.tensor import Tensor

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What the hooks keep from step to step, and how far they compress.

    Args:
        process_group: None for the world.
        matrix_approximation_rank: the rank of the products.
        start_powerSGD_iter: gradients of the steps before it are averaged as they are.
        min_compression_rate: a matrix is compressed if that makes it so many times smaller.
        use_error_feedback: whether the next step adds what the product missed.
        warm_start: whether a step begins with the Q of the step before.
        orthogonalization_epsilon: added to each column's norm; columns of zeros become NaN without.
        random_seed: of the first Q, the same in all processes.
        batch_tensors_with_same_shape: whether matrices of one shape are multiplied together.

    Pickles without its group; where it is loaded, the group is the world.

    Raises:
        ValueError: ``start_powerSGD_iter`` below 2 with error feedback or a warm start.
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations in "
                "DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback = use_error_feedback
        self.warm_start = warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Tensor] = {}
        self.p_memory_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[int, Tensor] = {}
        self.iter = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, process_group=_get_default_group())

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Count a step, at its last bucket."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """Return (how many times fewer, elements before compression, elements after it)."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0), before, after


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Future[Tensor]:
    """Average a bucket's gradients, its matrices by products of a small rank; vectors, and matrices
    that would not become smaller, as they are.

    JitCaptureError in a compiled step: the hook counts the steps.
    """
    if state.iter < state.start_powerSGD_iter:
        return _as_it_is(state, bucket)
    flat = _with_error(state, bucket.index(), bucket.buffer())
    bucket.set_buffer(flat.clone())
    matrices: dict[tuple[int, ...], list[Tensor]] = {}
    others: list[Tensor] = []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1)
        if _is_compressed(state, *matrix.shape):
            matrices.setdefault(tuple(matrix.shape), []).append(matrix)
        else:
            others.append(gradient)
    batches = [
        group
        for same in matrices.values()
        for group in ([same] if state.batch_tensors_with_same_shape else [[m] for m in same])
    ]
    _average_together(state, others)
    _compress(state, bucket.index(), batches)
    return _ended(state, bucket, flat)


def batched_powerSGD_hook(state: PowerSGDState, bucket: Any) -> Future[Tensor]:
    """Average a bucket, compressed as one square matrix with zeros behind it: faster than
    ``powerSGD_hook`` and less accurate.

    JitCaptureError in a compiled step: the hook counts the steps.
    """
    if state.iter < state.start_powerSGD_iter:
        return _as_it_is(state, bucket)
    given = bucket.buffer()
    side = math.isqrt(given.numel() - 1) + 1
    state.total_numel_before_compression += given.numel()
    state.total_numel_after_compression += 2 * side * state.matrix_approximation_rank
    padded = cat([given, given.new_zeros(side * side - given.numel())])
    flat = _with_error(state, bucket.index(), padded)
    bucket.set_buffer(flat.clone())
    _compress(state, bucket.index(), [[bucket.buffer().view(side, side)]])
    return _ended(state, bucket, flat, given.numel())


def _as_it_is(state: PowerSGDState, bucket: Any) -> Future[Tensor]:
    modes.running_capture().refuse(
        "a step whose communication hook counts the steps", "the step outside torchlike.jit"
    )
    state.maybe_increase_iter(bucket)
    return averaged(state.process_group, bucket.buffer())


def _with_error(state: PowerSGDState, index: int, flat: Tensor) -> Tensor:
    error = state.error_dict.get(index) if state.use_error_feedback else None
    return flat if error is None else flat + error


def _is_compressed(state: PowerSGDState, rows: int, columns: int) -> bool:
    rank = min(rows, columns, state.matrix_approximation_rank)
    before, after = rows * columns, (rows + columns) * rank
    smaller = after * state.min_compression_rate < before
    state.total_numel_before_compression += before
    state.total_numel_after_compression += after if smaller else before
    return smaller


def _average_together(state: PowerSGDState, tensors: Sequence[Tensor]) -> None:
    """Write the means of some tensors into them, by one collective."""
    if not tensors:
        return
    flat = cat([t.reshape(-1) for t in tensors])
    collectives.all_reduce(flat, group=state.process_group)
    flat = flat / member(state.process_group).size()
    for t, part in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
        t.copy_(part.view(tuple(t.shape)))


def _compress(state: PowerSGDState, index: int, batches: Sequence[Sequence[Tensor]]) -> None:
    """Write the products into matrices, those of a batch together."""
    if not batches:
        return
    stacked = [stack(batch) for batch in batches]
    shapes = []
    for m in stacked:
        n, rows, columns = m.shape
        rank = min(rows, columns, state.matrix_approximation_rank)
        shapes.append(((n, rows, rank), (n, columns, rank)))
    epsilon = state.orthogonalization_epsilon
    qs = [_orthogonal(q, epsilon) for q in _first_qs(state, index, stacked, [s[1] for s in shapes])]
    ps = _summed(state, [m @ q for m, q in zip(stacked, qs, strict=True)])
    ps = [_orthogonal(p, epsilon) for p in ps]
    qs = _summed(state, [m.mT @ p for m, p in zip(stacked, ps, strict=True)])
    qs = [q / member(state.process_group).size() for q in qs]
    for batch, p, q in zip(batches, ps, qs, strict=True):
        for matrix, product in zip(batch, p @ q.mT, strict=True):
            matrix.copy_(product)
    if state.warm_start:
        state.p_memory_dict[index], state.q_memory_dict[index] = _flat(ps), _flat(qs)


def _first_qs(
    state: PowerSGDState, index: int, like: Sequence[Tensor], shapes: Sequence[tuple[int, ...]]
) -> list[Tensor]:
    """Return the matrices Q of the step before, or random ones."""
    kept = state.q_memory_dict.get(index)
    if kept is not None:
        return _in_shapes(kept, shapes)
    generator = Generator().manual_seed(int(state.rng.randint(1_000_000_000)))
    return [
        m.new_empty(shape, device="cpu").normal_(generator=generator).to(m.device)
        for m, shape in zip(like, shapes, strict=True)
    ]


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    return cat([t.reshape(-1) for t in tensors])


def _in_shapes(flat: Tensor, shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    parts = flat.split([math.prod(shape) for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


def _summed(state: PowerSGDState, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Sum each tensor over the processes, by one collective."""
    flat = _flat(tensors)
    collectives.all_reduce(flat, group=state.process_group)
    return _in_shapes(flat, [tuple(t.shape) for t in tensors])


def _orthogonal(batch: Tensor, epsilon: float) -> Tensor:
    """Return the matrices with their columns made orthogonal and of length 1, by Gram-Schmidt; by
    QR where there are more than two columns in a dtype that LAPACK knows."""
    if batch.shape[2] > 2 and batch.itemsize > 2:
        return qr(batch)[0]
    columns = list(batch.split(1, 2))
    for i, column in enumerate(columns):
        unit = column / ((column * column).sum(1, keepdim=True).sqrt() + epsilon)
        columns[i] = unit
        for j in range(i + 1, len(columns)):
            columns[j] = columns[j] - (unit * columns[j]).sum(1, keepdim=True) * unit
    return cat(columns, 2)


def _ended(
    state: PowerSGDState, bucket: Any, given: Tensor, size: int | None = None
) -> Future[Tensor]:
    """Keep what the products missed, count the step, give the bucket's first ``size`` elements."""
    if state.use_error_feedback:
        state.error_dict[bucket.index()] = given - bucket.buffer()
    state.maybe_increase_iter(bucket)
    return done(bucket.buffer()[:size])
