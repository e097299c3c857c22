"""A sparse matrix times a dense vector or matrix by SciPy, which JAX brings: eager, on the CPU.

Of 100,000 elements in 10,000 rows times a vector it takes 0.09 ms, a compiled program 0.2 to 0.3;
times 64 columns backward 1.1, a compiled program 2.7. Gradients are products with the transposed
matrix, whose indices SciPy shares, and dot products of rows, for the elements.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import core

from torchlike._core import errors, modes, overrides, tape
from torchlike._core.dispatch.record import rejoined
from torchlike._core.storage import Storage, host_value
from torchlike._core.tape import Node, gradient_edge
from torchlike._ops.linalg.sparse_products import sampled_product, sparse_matmul
from torchlike._runtime.lazy import LazyModule
from torchlike.tensor import Tensor, wrap

scipy_sparse: Any = LazyModule("scipy.sparse")
_WHY = "a sparse product"
#: Elements from which on it is worth leaving the compiled path.
_FEW = 1024


def applies(values: Tensor, dense: Tensor) -> bool:
    """Return whether a product may be computed by SciPy: floats of 32 or 64 bits on the CPU, with
    nothing that traces or decides what is saved for backward."""
    return (
        dense.dim() in (1, 2)
        and dense.dtype is values.dtype
        and values.dtype.numpy in (np.float32, np.float64)
        and values.numel() >= _FEW
        and not modes.is_capturing()
        and not modes.current.levels
        and values.is_cpu
        and dense.is_cpu
        and not values.is_meta
        and not dense.is_meta
        and (not _recorded(values, dense) or _is_saved_as_ever(values, dense))
    )


def _recorded(values: Tensor, dense: Tensor) -> bool:
    return modes.current.grad_enabled and (values.requires_grad or dense.requires_grad)


def _is_saved_as_ever(values: Tensor, dense: Tensor) -> bool:
    """True if nobody packs, watches or selects what is saved, and none of it is an inference tensor
    (which the compiled path refuses). ``saving.make`` says less: it is set for good once a process
    has entered inference mode."""
    saving = tape.saving
    inference = values._inference or dense._inference
    return not (saving.hooks or saving.strict or saving.selecting is not None or inference)


def directly(rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a method that asks a sparse class's rule for a product without trying the compiled op
    first, which takes 0.7 ms to refuse. Modes and other classes are asked as ever."""

    def method(self: Any, other: Any) -> Any:
        if (
            overrides.state.busy
            or type(other) not in overrides.PLAIN
            or not isinstance(other, Tensor)
        ):
            return Tensor.matmul(self, other)  # type: ignore[attr-defined]
        return rule(self, other)

    return method


# -- where elements are ----------------------------------------------------------------------------


class Places:
    """Where the elements of a matrix are, in SciPy's form."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    @functools.cached_property
    def transposed(self) -> Any:
        """The transposed matrix, of the same indices."""
        return self.matrix.T

    @functools.cached_property
    def rows_and_columns(self) -> tuple[np.ndarray, np.ndarray]:
        """The row and the column of each element, in the order of the values."""
        found = self.matrix if self.matrix.format == "coo" else self.matrix.tocoo()
        return found.row, found.col

    def indices(self) -> Tensor:
        """Return the indices as a tensor (2, nnz)."""
        return wrap(host_value(np.stack(self.rows_and_columns).astype(np.int64)))


#: The places of matrices that were multiplied: by the storage of their (plain) indices and by
#: layout and shape, with the states of the index tensors that they were made of.
_known: weakref.WeakKeyDictionary[Storage, dict[Any, tuple[Any, Places]]]
_known = weakref.WeakKeyDictionary()


def _places(indices: Sequence[Tensor], make: Callable[..., Any], key: Any) -> Places:
    """Return the places that ``make`` makes of index arrays, cached for tensors that are not
    written to. ``key``: what else they depend on."""
    storages = [t._storage for t in indices]
    if any(t._view is not None or t._storage.host is not None for t in indices):
        return Places(make(*(t._value(_WHY) for t in indices)))
    state = [(weakref.ref(s), s.version) for s in storages]
    places_by_key = _known.setdefault(storages[-1], {})
    found = places_by_key.get(key)
    if found is not None and found[0] == state:
        return found[1]
    places = Places(make(*(t._value(_WHY) for t in indices)))
    places_by_key[key] = state, places
    return places


def _check_inside(name: str, indices: np.ndarray, size: int) -> None:
    """Refuse, with RuntimeError, indices with which SciPy, which does not check them, would read
    other memory."""
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < size:
        raise RuntimeError(f"a sparse product: {name} are out of range for a size of {size}")


def by_compressed(
    compressed: Tensor, plain: Tensor, values: Tensor, dense: Tensor, rows: int, by_rows: bool
) -> Tensor:
    """Return the product of a matrix in CSR, or in CSC unless ``by_rows``, with a vector or a
    matrix."""
    shape = rows, dense.shape[0]

    def make(begins: np.ndarray, indices: np.ndarray) -> Any:
        _check_inside("plain indices", indices, shape[by_rows])
        nothing = np.zeros(indices.size, np.float32)
        layout = scipy_sparse.csr_array if by_rows else scipy_sparse.csc_array
        return layout((nothing, indices, begins), shape=shape, copy=False)

    return _product(_places((compressed, plain), make, (shape, by_rows)), values, dense)


def by_coordinates(
    indices: Tensor, values: Tensor, dense: Tensor, rows: int, is_sorted: bool
) -> Tensor:
    """Return the product of a matrix in coordinate form, whose elements may be in any order and may
    repeat unless they are sorted."""
    shape = rows, dense.shape[0]

    def make(at: np.ndarray) -> Any:
        _check_inside("row indices", at[0], rows)
        _check_inside("column indices", at[1], shape[1])
        nothing = np.zeros(at.shape[1], np.float32)
        if is_sorted and bool((np.diff(at[0]) >= 0).all()):
            begins = np.searchsorted(at[0], np.arange(rows + 1))
            return scipy_sparse.csr_array((nothing, at[1], begins), shape=shape, copy=False)
        return scipy_sparse.coo_array((nothing, tuple(at)), shape=shape, copy=False)

    return _product(_places((indices,), make, (shape, is_sorted)), values, dense)


# -- the product and its gradients -----------------------------------------------------------------


def _times(matrix: Any, values: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """Return the product of the matrix with these values at its places."""
    same = copy.copy(matrix)  # other threads may multiply with other values
    same.data = values
    return same @ dense


def _product(places: Places, values: Tensor, dense: Tensor) -> Tensor:
    if not _recorded(values, dense):
        found = _times(places.matrix, values._value(_WHY), dense._value(_WHY))
        return wrap(host_value(found))
    node = ProductNode(places, values, dense)
    out = wrap(host_value(_times(places.matrix, *node.arrays())))
    out._node, out._requires_grad = node, True
    return out


class ProductNode(Node):
    """A product of a sparse matrix: its values and the dense factor, whose gradients it has."""

    __slots__ = ("places", "saved")

    def __init__(self, places: Places, values: Tensor, dense: Tensor) -> None:
        super().__init__("SparseAddmmBackward0", [gradient_edge(values), gradient_edge(dense)])
        self.places = places
        self.saved: Any = values._value_now(), dense._value_now()

    def is_released(self) -> bool:
        return self.saved is None

    def release(self) -> None:
        self.saved = None

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the values and the dense factor that were saved. RuntimeError once they are
        released."""
        if self.saved is None:
            raise RuntimeError(errors.BACKWARD_TWICE)
        values, dense = map(np.asarray, self.saved)
        return values, dense

    def run(self, cotangents: list[Any]) -> Sequence[Any]:
        values, dense = self.arrays()
        along = cotangents[0]
        current = modes.current
        if (
            isinstance(along, core.Tracer)
            or not isinstance(along, (jax.Array, np.ndarray))
            or modes.is_capturing()
            or current.levels
        ):
            found = self._gradients(wrap(self.saved[0]), wrap(self.saved[1]), wrap(along))
            return [None if t is None else t._read() for t in found]
        along = np.asarray(along)
        of_values, of_dense = (edge is not None for edge in self.edges)
        return [
            host_value(self._of_values(along, dense)) if of_values else None,
            host_value(_times(self.places.transposed, values, along)) if of_dense else None,
        ]

    def _of_values(self, along: np.ndarray, dense: np.ndarray) -> np.ndarray:
        """Return at each element the dot product of a row of the cotangent and one of the
        factor."""
        rows, columns = self.places.rows_and_columns
        if dense.ndim == 1:
            return along[rows] * dense[columns]
        found = np.empty(rows.size, dense.dtype)
        for start in range(0, rows.size, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            np.einsum("ij,ij->i", along[rows[part]], dense[columns[part]], out=found[part])
        return found

    def run_graph(self, cotangents: list[Any]) -> Sequence[Any]:
        self.arrays()
        values, dense = (
            wrap(array) if edge is None else rejoined(array, edge)
            for array, edge in zip(self.saved, self.edges, strict=True)
        )
        return self._gradients(values, dense, cotangents[0])

    def _gradients(self, values: Any, dense: Any, along: Any) -> list[Any]:
        """Compute the gradients by ops, which record."""
        at = self.places.indices()
        rows, columns = self.places.matrix.shape
        of_values, of_dense = (edge is not None for edge in self.edges)
        left, right = (t if t.dim() == 2 else t.unsqueeze(1) for t in (along, dense))
        return [
            sampled_product(at, left, right.t()) if of_values else None,
            sparse_matmul(at.flip(0), values, along, columns, rows) if of_dense else None,
        ]


#: Elements whose rows are gathered at once: they stay in the processor's cache.
_AT_ONCE = 2048
