"""A strategy for tensors: dtypes, a small pool of shapes, layouts in memory, special values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchlike._core import dtypes as _dtypes
from torchlike._ops import functions
from torchlike.tensor import Tensor
from torchlike.testing.strategies.dtypes import checked
from torchlike.testing.strategies.hypothesis_package import st

#: Few shapes, so that few programs are compiled: scalars, ones that broadcast, sizes of zero.
SHAPES: tuple[tuple[int, ...], ...] = (
    (3,),
    (2, 3),
    (),
    (1,),
    (4, 1),
    (1, 3),
    (0,),
    (2, 3, 4),
    (3, 3),
    (0, 3),
    (2, 0),
    (2, 1, 4),
)

#: Contiguous elements end to end, and views: of a tensor that is written in another order, of every
#: second element, of the inside of a larger tensor, of one element many times.
LAYOUTS = ("contiguous", "transposed", "strided", "offset", "expanded")


def shapes(dims: Sequence[int] = (0, 1, 2, 3), zero: bool = True) -> Any:
    """Return a strategy for shapes of the pool with so many dimensions.

    Args:
      dims: the numbers of dimensions.
      zero: whether sizes of zero are among them.

    Returns:
      the strategy, of tuples of ints.

    Raises:
      ValueError: the pool has no such shape.

    Example:
      >>> import hypothesis
      >>> from torchlike.testing import strategies
      >>> @hypothesis.settings(max_examples=5, database=None, deadline=None)
      ... @hypothesis.given(strategies.shapes(dims=(2,), zero=False))
      ... def check(shape):
      ...     assert len(shape) == 2 and 0 not in shape
      >>> check()
    """
    found = [s for s in SHAPES if len(s) in dims and (zero or 0 not in s)]
    if not found:
        raise ValueError(f"no shape of the pool has {tuple(dims)} dimensions: give 0 to 3")
    return st.sampled_from(found)


def tensors(
    dtype: Any = None,
    shape: Any = None,
    *,
    layouts: Sequence[str] = LAYOUTS,
    special: bool = True,
    low: float = -4,
    high: float = 4,
    requires_grad: Any = False,
    device: Any = "cpu",
) -> Any:
    """Return a strategy for tensors, also non-contiguous ones, expanded ones and views into larger
    tensors.

    Args:
      dtype: one, or a strategy; float32 by default. ``strategies.dtypes()`` draws from all.
      shape: one, or a strategy; ``shapes()``, a pool of twelve, by default.
      layouts: from `LAYOUTS`; the first is the simplest.
      special: whether some examples hold NaN, infinities, both zeros, the smallest normal and the
        largest number of the dtype (of integers, both ends).
      low, high: bounds of the other values.
      requires_grad: True, False, or a strategy for both; of floating point and complex tensors
        alone. The tensor is a leaf.
      device: where they are made.

    Raises:
      ValueError: the device lacks the dtype, an unknown layout, or ``low`` above ``high``.

    Returns:
      the strategy.

    Example:
      >>> import hypothesis
      >>> from torchlike.testing import strategies
      >>> @hypothesis.settings(max_examples=5, database=None, deadline=None)
      ... @hypothesis.given(strategies.tensors(shape=(2, 3), special=False))
      ... def check(x):
      ...     assert x.shape == (2, 3) and x.abs().max() <= 4
      >>> check()
    """
    kinds = st.just(_dtypes.float32) if dtype is None else dtype
    if not isinstance(kinds, st.SearchStrategy):
        kinds = st.just(checked(dtype, device))
    if not layouts or not set(layouts) <= set(LAYOUTS):
        raise ValueError(f"layouts must be some of {LAYOUTS}, not {tuple(layouts)}")
    if low > high:
        raise ValueError(f"low must not be above high, but {low} > {high}")
    sizes = shapes() if shape is None else shape
    if not isinstance(sizes, st.SearchStrategy):
        sizes = st.just(tuple(sizes))
    grads = requires_grad
    if not isinstance(grads, st.SearchStrategy):
        grads = st.just(bool(requires_grad))

    def made(kind: Any, size: Any, layout: str, numbers: int, grad: bool) -> Tensor:
        kind = checked(kind, device)
        seed, is_special = divmod(numbers, 2)
        fill = _RandomFill(kind, seed, bool(is_special and special), low, high)
        t = _MAKERS[layout](fill, tuple(size))
        t = t if str(device) == "cpu" else t.to(device)
        return t.requires_grad_() if grad and kind.category >= 2 else t

    return st.builds(made, kinds, sizes, st.sampled_from(layouts), st.integers(0, 4095), grads)


class _RandomFill:
    """Makes tensors of numbers that follow from a seed."""

    def __init__(
        self, dtype: _dtypes.dtype, seed: int, special: bool, low: float, high: float
    ) -> None:
        self.dtype, self._special, self._low, self._high = dtype, special, low, high
        self._random = np.random.default_rng(seed)

    def __call__(self, size: tuple[int, ...]) -> Tensor:
        kind, random = self.dtype, self._random
        if kind is _dtypes.bool:
            values = random.integers(0, 2, size).astype(bool)
        elif kind.category < 2:
            facts = _dtypes.iinfo(kind)
            low, high = max(math.ceil(self._low), facts.min), min(int(self._high), facts.max)
            values = random.integers(low, high, size, endpoint=True)
        else:
            values = np.asarray(random.uniform(self._low, self._high, size))
            if kind.is_complex:
                values = values + 1j * random.uniform(self._low, self._high, size)
        values = np.asarray(values).astype(kind.numpy)
        if self._special and values.size and kind is not _dtypes.bool:
            self._put_special(values.reshape(-1))
        return functions.from_numpy(values)

    def _put_special(self, flat: np.ndarray) -> None:
        """Put special values into a third of the places, one at least."""
        kind = self.dtype
        if kind.category < 2:
            facts: Any = _dtypes.iinfo(kind)
            choices = [facts.min, facts.max, 0]
        else:
            facts = _dtypes.finfo(kind)
            choices = [math.nan, math.inf, -math.inf, -0.0, 0.0, facts.tiny, facts.max, facts.min]
        n = max(1, flat.size // 3)
        places = self._random.permutation(flat.size)[:n]
        flat[places] = np.array(
            [choices[i] for i in self._random.integers(0, len(choices), n)], flat.dtype
        )


def _transposed(fill: _RandomFill, size: tuple[int, ...]) -> Tensor:
    t = fill(size[::-1])
    return t.permute(*reversed(range(len(size)))) if size else t


def _strided(fill: _RandomFill, size: tuple[int, ...]) -> Tensor:
    return fill((*size[:-1], 2 * size[-1]))[..., ::2] if size else fill(size)


def _offset(fill: _RandomFill, size: tuple[int, ...]) -> Tensor:
    return fill((size[0] + 2, *size[1:]))[1 : size[0] + 1] if size else fill((3,))[1]


def _expanded(fill: _RandomFill, size: tuple[int, ...]) -> Tensor:
    return fill((1, *size[1:])).expand(size) if size else fill(size)


_MAKERS: dict[str, Callable[[_RandomFill, tuple[int, ...]], Tensor]] = {
    "contiguous": lambda fill, size: fill(size),
    "transposed": _transposed,
    "strided": _strided,
    "offset": _offset,
    "expanded": _expanded,
}
