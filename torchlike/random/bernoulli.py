"""Bernoulli fills: one probability for all elements, or a tensor of probabilities."""

from __future__ import annotations

import math

import numpy as np

from torchlike.random.arithmetic import cast
from torchlike.random.checks import COMPONENT, FLOAT32, FLOAT64, FLOATS, not_implemented, number
from torchlike.random.engine import MASK53, Engine, atomic, by_engine
from torchlike.random.uniform import chunks, unit_doubles, unit_floats

_TARGETS = (*FLOATS, *map(np.dtype, ("int64", "int32", "int16", "int8", "uint8", "bool")))


@by_engine
@atomic
def coin_units(engine: Engine, shape: tuple[int, ...], wide: bool) -> np.ndarray:
    """Draw the uniforms of [0, 1) that the probabilities of each element are compared with: 1 where
    the number is below. float32, or float64 where the probabilities are (``wide``)."""
    n = math.prod(shape)
    x = unit_doubles(engine, n) if wide else unit_floats(engine.words32(n))
    return x.reshape(shape)


@by_engine
@atomic
def bernoulli_mask(
    engine: Engine,
    shape: tuple[int, ...],
    p: float,
    dtype: np.dtype = FLOAT32,
    width: int | None = None,
) -> np.ndarray:
    """Draw a mask of bools of ``shape``, True with probability ``p``. Draws 2 words an element, p =
    0 and 1 too.

    A GPU's stream alone asks for the rest: the dtype of what is masked, and where its kernel of
    dropout does it, how many neighbouring elements that reads at once.

    The uniform double x = k * 2**-53 is below p exactly when the integer k is below
    ceil(p * 2**53), so no floats are made.

    Raises:
      RuntimeError: p outside [0, 1] or not a number.
    """
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={number(p)}")
    threshold = np.uint64(math.ceil(p * 2.0**53))
    flat = np.empty(math.prod(shape), np.bool_)
    for start, stop in chunks(flat.size):
        words = engine.words64(stop - start)
        words &= np.uint64(MASK53)
        np.less(words, threshold, out=flat[start:stop])
    return flat.reshape(shape)


@by_engine
@atomic
def bernoulli(engine: Engine, shape: tuple[int, ...], dtype: np.dtype, p: float) -> np.ndarray:
    """Draw 1 with probability ``p``, else 0, as ``dtype``: ``bernoulli_(p)``. Draws 2 words an
    element.

    Raises:
      RuntimeError: p outside [0, 1].
      NotImplementedError: a complex or wide unsigned dtype.
    """
    if dtype not in _TARGETS:
        # Draws nothing, but checks p.
        bernoulli_mask(engine, (0,), p)
        if math.prod(shape) == 0:
            return np.empty(shape, dtype)
        raise not_implemented("bernoulli_scalar_cpu_", dtype)
    return bernoulli_mask(engine, shape, p).astype(dtype)


@atomic
def bernoulli_tensor(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, p: np.ndarray
) -> np.ndarray:
    """Draw 1 with the probability at the same place of ``p``, which broadcasts to ``shape``, else
    0.

    Draws 2 words an element for float64 ``p``, else 1: the dtype of ``p`` decides, not ``dtype``.

    Raises:
      RuntimeError: an element of ``p`` outside [0, 1], or ``p`` does not expand to ``shape``.
      NotImplementedError: ``p`` is not floating point, or a complex or wide unsigned ``dtype``.
    """
    if dtype not in _TARGETS or dtype in COMPONENT:
        raise not_implemented("bernoulli_tensor_cpu_self_", dtype)
    if p.dtype not in FLOATS:
        raise not_implemented("bernoulli_tensor_cpu_p_", p.dtype)
    _check_expands(p.shape, shape)
    work = np.float64 if p.dtype == FLOAT64 else np.float32
    probabilities = np.broadcast_to(p.astype(work), shape).ravel()
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    flat = np.empty(probabilities.size, np.bool_)
    for start, stop in chunks(flat.size):
        n = stop - start
        x = unit_doubles(engine, n) if work is np.float64 else unit_floats(engine.words32(n))
        np.less(x, probabilities[start:stop], out=flat[start:stop])
    return cast(flat, dtype).reshape(shape)


def _check_expands(source: tuple[int, ...], target: tuple[int, ...]) -> None:
    if len(source) > len(target):
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(source)}}}, size={list(target)}): the number of "
            f"sizes provided ({len(target)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({len(source)})"
        )
    offset = len(target) - len(source)
    for dim in range(len(source) - 1, -1, -1):
        if source[dim] not in (1, target[dim + offset]):
            raise RuntimeError(
                f"The expanded size of the tensor ({target[dim + offset]}) must match the existing "
                f"size ({source[dim]}) at non-singleton dimension {dim + offset}.  Target sizes: "
                f"{list(target)}.  Tensor sizes: {list(source)}"
            )
