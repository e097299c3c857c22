"""Which thread of a kernel makes which element, with which of its words.

The element-wise kernels (`Grid`): T threads, of which thread t makes the elements t, t + T, t + 2T
and so on. A call of its gives four words, or two numbers of 64 bits, for its next elements
(``unroll``: 4 or 2). T is the number of elements rounded up to whole blocks, or as many threads as
the card holds. So with no more elements than that, each takes the first word of a thread of its
own, and the card does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from torchlike.random.cuda import cards
from torchlike.random.cuda.cards import BLOCK
from torchlike.random.cuda.philox import FourWords, words

#: How much a generator's offset grows by for each call of a thread.
PER_CALL = 4

_MOST_BYTES = (1 << 31) - 1


class Grid(NamedTuple):
    """The threads of a kernel over ``n`` elements.

    Attributes:
      n: how many elements, at least one.
      threads: how many threads.
      unroll: for how many elements one call is enough: 4 words, or 2 of 64 bits.
    """

    n: int
    threads: int
    unroll: int = 4

    @property
    def increment(self) -> int:
        """What the generator's offset grows by."""
        return ((self.n - 1) // (self.threads * self.unroll) + 1) * PER_CALL

    def drawn(self, key: Any) -> tuple[FourWords, Any]:
        """Return the words of the call that made each element, arrays of shape (n,), and which of
        its ``unroll`` numbers the element is (0 to unroll - 1; None: the first of all)."""
        index = jnp.arange(self.n, dtype=np.uint32)
        if self.n <= self.threads:
            return words(key, index, np.uint32(0)), None
        turn, thread = index // np.uint32(self.threads), index % np.uint32(self.threads)
        unroll = np.uint32(self.unroll)
        return words(key, thread, turn // unroll), turn % unroll


def grid(n: int, unroll: int = 4) -> Grid:
    """Return the grid of the element-wise kernels for ``n`` elements on the current card."""
    blocks = min((n + BLOCK - 1) // BLOCK, cards.current().threads // BLOCK)
    return Grid(n, blocks * BLOCK, unroll)


def pick(drawn: tuple[FourWords, Any]) -> Any:
    """Return the word of each element, of what a grid has drawn with ``unroll`` 4."""
    (x, y, z, w), place = drawn
    if place is None:
        return x
    low = jnp.where(place == 0, x, y)
    return jnp.where(place < 2, low, jnp.where(place == 2, z, w))


def pick_pair(drawn: tuple[FourWords, Any]) -> tuple[Any, Any]:
    """Return the two words of each element, of what a grid has drawn with ``unroll`` 2."""
    (x, y, z, w), place = drawn
    if place is None:
        return x, y
    return jnp.where(place == 0, x, z), jnp.where(place == 0, y, w)


def pieces(n: int, itemsize: int) -> Iterator[int]:
    """Yield the sizes of the parts that a tensor of ``n`` elements is filled in, in order: halves,
    until an offset in bytes takes 31 bits."""
    if 1 + (n - 1) * itemsize <= _MOST_BYTES:
        yield n
    else:
        yield from pieces(n // 2, itemsize)
        yield from pieces(n - n // 2, itemsize)
