"""Look-ups whose gradient is sparse: the indices, and a row of the gradient for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike._core import errors, modes
from torchlike._core.tape import AccumulateGrad, Edge, Node, gradient_edge
from torchlike._extensions.sparse_array import SparseArray
from torchlike.tensor import Tensor, wrap


class SparseRowsNode(Node):
    """The gradient of rows of a table, in coordinate form."""

    __slots__ = ("indices", "padding_idx", "shape")

    def __init__(
        self, edge: Edge, indices: Any, shape: tuple[int, ...], padding_idx: int | None
    ) -> None:
        super().__init__("EmbeddingBackward0", [edge])
        self.indices, self.shape, self.padding_idx = indices, shape, padding_idx

    def is_released(self) -> Any:
        return self.indices is None

    def release(self) -> None:
        self.indices = None

    def _gradient(self, rows: Tensor) -> SparseArray:
        """Return the sparse gradient of the weight from a gradient for each index. Those of the
        padding row are left out."""
        if self.indices is None:
            raise RuntimeError(errors.BACKWARD_TWICE)
        at = np.asarray(self.indices).reshape(-1).astype(np.int64)
        values: Any = rows.reshape(len(at), self.shape[1])
        if self.padding_idx is not None:
            kept = np.flatnonzero(at != self.padding_idx)
            at, values = at[kept], values[wrap(jnp.asarray(kept))]
        return SparseArray(wrap(jnp.asarray(at[None])), values, self.shape, False)

    def run(self, cotangents: list[Any]) -> Sequence[Any]:
        return [self._gradient(wrap(cotangents[0]))]

    def run_graph(self, cotangents: list[Any]) -> Sequence[Any]:
        return [wrap(self._gradient(cotangents[0]))]


def wants_sparse(weight: Tensor, name: str) -> bool:
    """Return whether a look-up with ``sparse=True`` records a sparse gradient: where ``weight`` is
    a leaf, so that its gradient is visible. JitCaptureError under a jit."""
    if not (weight.requires_grad and modes.current.grad_enabled):
        return False
    modes.running_capture().refuse(f"the sparse gradient of {name}(sparse=True)", "sparse=False")
    edge = gradient_edge(weight)
    return edge is not None and isinstance(edge[0], AccumulateGrad) and not modes.current.levels


def recorded(rows: Tensor, weight: Tensor, indices: Tensor, padding_idx: int | None) -> Tensor:
    """Record the node of a sparse gradient on ``rows``, which were looked up without gradient, and
    return them."""
    edge = gradient_edge(weight)
    assert edge is not None
    rows._node = SparseRowsNode(edge, indices._read(), tuple(weight.shape), padding_idx)
    rows._requires_grad = True
    return rows
