"""``torch.quasirandom``: Sobol sequences, point for point PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._core.dtypes import get_default_dtype
from torchlike._ops import functions as f
from torchlike._runtime.lazy import LazyModule
from torchlike.random import Generator
from torchlike.tensor import Tensor

__all__ = ["SobolEngine"]

qmc: Any = LazyModule("scipy.stats.qmc")


class SobolEngine:
    """Points of a Sobol sequence in the unit cube of ``dimension`` dimensions, by Joe and Kuo's
    direction numbers.

    With ``scramble`` they are shifted and multiplied by random lower triangular matrices of bits,
    drawn with ``seed``. ValueError for a dimension below 1 or above MAXDIM.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        plain = qmc.Sobol(dimension, scramble=False, bits=self.MAXBIT)
        self._directions = np.asarray(plain._sv, np.int64)  # (dimension, MAXBIT)
        self._shift = np.zeros(dimension, np.int64)
        if scramble:
            self._scramble()
        self.num_generated = 0
        self._point = self._shift.copy()
        #: In the default dtype of now, whatever is drawn later: PyTorch's first point is.
        self._first = f.tensor(self._shift * 2.0**-self.MAXBIT, dtype=get_default_dtype()).numpy()

    def _scramble(self) -> None:
        generator = Generator()
        if self.seed is None:
            generator.seed()
        else:
            generator.manual_seed(self.seed)
        bits, dim = self.MAXBIT, self.dimension
        powers = 1 << np.arange(bits)
        self._shift = f.randint(2, (dim, bits), generator=generator).numpy() @ powers
        drawn = f.randint(2, (dim, bits, bits), generator=generator).numpy()
        matrices = np.tril(drawn, -1) + np.eye(bits, dtype=np.int64)
        # A matrix meets a number's bits from the highest to the lowest.
        columns = self._directions[:, None, :] >> np.arange(bits)[::-1, None] & 1
        mixed = np.matmul(matrices, columns) & 1  # (dim, bit, direction)
        self._directions = np.einsum("dbj,b->dj", mixed, powers[::-1])

    def _advance(self) -> None:
        """Move to the next point: by the direction of the lowest zero bit of the number of
        points."""
        n = self.num_generated
        self._point = self._point ^ self._directions[:, (~n & n + 1).bit_length() - 1]
        self.num_generated = n + 1

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Tensor:
        """Draw the next ``n`` points, (n, dimension), in the default dtype unless given."""
        made = np.empty((n, self.dimension))
        for row in made:
            row[:] = self._point * 2.0**-self.MAXBIT if self.num_generated else self._first
            self._advance()
        points = f.tensor(made, dtype=dtype or get_default_dtype())
        return points if out is None else out.resize_(points.shape).copy_(points)

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Tensor:
        """Draw the next ``2**m`` points. ValueError unless the number drawn in all is a power of
        2."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Go back to the first point."""
        self.num_generated, self._point = 0, self._shift.copy()
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip ``n`` points."""
        for _ in range(n):
            self._advance()
        return self

    def __repr__(self) -> str:
        said = [f"dimension={self.dimension}"]
        if self.scramble:
            said.append("scramble=True")
        if self.seed is not None:
            said.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(said)})"
