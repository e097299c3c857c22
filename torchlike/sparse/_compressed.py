"""A tensor in a compressed layout (CSR, CSC, BSR, BSC), alone or as a batch of matrices.

Its indices and values are dense tensors, so gradients are those of the values. What can be computed
with it is in _compressed_rules.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from torchlike._core import dtypes, modes
from torchlike._core.dispatch.registry import NAMESPACES, composite
from torchlike._core.dispatch.schema import ints
from torchlike._core.layouts import sparse_coo, sparse_csr
from torchlike._core.tape import check_in_place
from torchlike._extensions.parts_storage import PartsStorage
from torchlike._extensions.sparse_array import CompressedArray
from torchlike._extensions.tensor_of_parts import TensorOfParts
from torchlike._ops.creation.filled import WITHOUT_ELEMENTS
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.linalg.sparse_products import uncompressed_indices
from torchlike._runtime import printing, trees
from torchlike.sparse._checks import check_sparse_tensor_invariants
from torchlike.sparse._elsewhere import (
    as_it_is,
    following,
    in_coordinates,
    mark_of,
    marked,
    through,
)
from torchlike.sparse._geometry import WithoutMemory
from torchlike.sparse._invariants import check_indices, check_shapes
from torchlike.sparse._kinds import KINDS, TRANSPOSED, CompressedLayout, name_of
from torchlike.sparse._tensor import SparseTensor, compressing, own_values
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]


class CompressedTensor(WithoutMemory, cell=CompressedArray):
    """Compressed indices (*batch, n + 1), plain indices (*batch, nnz), values (*batch, nnz, *block,
    *dense sizes), a size (*batch, rows, columns, *dense sizes) and one of the four layouts.

    Ops without a rule in _compressed_rules.py raise NotImplementedError.
    """

    __module__ = "torchlike.sparse._compressed"

    def __new__(
        cls, compressed: Tensor, plain: Tensor, values: Tensor, size: Any, layout: Any
    ) -> CompressedTensor:
        return cls._on(PartsStorage(CompressedArray(compressed, plain, values, size, layout)))

    # -- what it is --------------------------------------------------------------------------------

    @property
    def layout(self) -> Any:
        return self._storage.cell.layout

    @property
    def kind(self) -> CompressedLayout:
        """The layout's properties."""
        return KINDS[self._storage.cell.layout]

    @property
    def _compressed(self) -> Tensor:
        return self._storage.cell.compressed

    @property
    def _plain(self) -> Tensor:
        return self._storage.cell.plain

    is_sparse_csr = property(lambda self: self.layout is sparse_csr)

    def n_batch(self) -> int:
        """Return how many dimensions the batch has."""
        return self._compressed.dim() - 1

    def blocksize(self) -> tuple[int, int] | None:
        """Return rows and columns of a block, or None where values are single elements."""
        if not self.kind.in_blocks:
            return None
        rows, columns = self._held.shape[self.n_batch() + 1 : self.n_batch() + 3]
        return rows, columns

    def sparse_dim(self) -> int:
        """Return 2, for rows and columns."""
        return 2

    def dense_dim(self) -> int:
        """Return how many dimensions each value has."""
        return self._held.dim() - self.n_batch() - 1 - 2 * self.kind.in_blocks

    def _nnz(self) -> int:
        return self._plain.shape[-1]

    def _indices_named(self, name: str) -> Tensor:
        kind = self.kind
        if name not in (kind.compressed, kind.plain):
            of = "row" if name in ("crow_indices", "col_indices") else "column"
            raise RuntimeError(
                f"{name} expected sparse {of} compressed tensor layout but got {kind.name}"
            )
        return self._compressed if name == kind.compressed else self._plain

    def crow_indices(self) -> Tensor:
        """Return where each row begins. Raises RuntimeError where columns are compressed."""
        return self._indices_named("crow_indices")

    def col_indices(self) -> Tensor:
        """Return the column of each element. Raises RuntimeError where columns are compressed."""
        return self._indices_named("col_indices")

    def ccol_indices(self) -> Tensor:
        """Return where each column begins. Raises RuntimeError where rows are compressed."""
        return self._indices_named("ccol_indices")

    def row_indices(self) -> Tensor:
        """Return the row of each element. Raises RuntimeError where rows are compressed."""
        return self._indices_named("row_indices")

    def values(self) -> Tensor:
        """Return the values (*batch, nnz, …)."""
        return self._held

    def _not_coordinates(self, name: str) -> Any:
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got {self.kind.name}"
        )

    def indices(self) -> Tensor:
        """Raise RuntimeError: that is for coordinate form."""
        return self._not_coordinates("indices")

    def coalesce(self) -> Tensor:
        """Raise RuntimeError: that is for coordinate form."""
        return self._not_coordinates("coalesce")

    def is_coalesced(self) -> bool:
        """Raise RuntimeError: that is for coordinate form."""
        return self._not_coordinates("is_coalesced")

    def stride(self, dim: int | None = None) -> Any:
        """Raise RuntimeError: there is no memory to step through."""
        raise RuntimeError("Sparse CSR tensors do not have strides")

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Raise RuntimeError: there is no memory order."""
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")

    def numpy(self, *, force: Any = False) -> np.ndarray:
        """Raise TypeError: call ``to_dense()`` first."""
        raise TypeError(
            f"can't convert {self.kind.name} layout tensor to numpy. Use Tensor.to_dense() first."
        )

    def __repr__(self) -> str:
        kind, suffixes = self.kind, [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
        indices = ((kind.compressed, self._compressed), (kind.plain, self._plain))
        dtype, rest = self._said(), [f"layout={self.layout!r}", *self._said_of_gradients()]
        suffixes += [*dtype, *rest]
        return printing.with_suffixes(f"tensor({self._parts_shown(indices, 8)}", suffixes, 7)

    # -- conversions -------------------------------------------------------------------------------

    def _of(self, parts: Sequence[Tensor], size: Any) -> CompressedTensor:
        """Return a tensor of other parts in this layout."""
        compressed, plain, values = parts
        return CompressedTensor(compressed, plain, values, size, self.layout)

    def _with(self, values: Tensor) -> CompressedTensor:
        return CompressedTensor(self._compressed, self._plain, values, self.shape, self.layout)

    def coordinates(self) -> tuple[Tensor, Tensor]:
        """Return indices (batch dimensions + 2, n) and values (n, *dense sizes) of every
        element."""
        n_batch, block = self.n_batch(), self.blocksize()
        outer = uncompressed_indices(self._compressed, self._nnz())
        inner = self._plain.to(dtypes.int64)
        rows, columns = (outer, inner) if self.kind.by_rows else (inner, outer)
        if block is not None:
            high, wide = (_torch["arange"](n) for n in block)
            rows = rows[..., None, None] * block[0] + high[:, None]
            columns = columns[..., None, None] * block[1] + wide
        batch = [
            _torch["arange"](n).reshape(n, *[1] * (rows.dim() - d - 1))
            for d, n in enumerate(self.shape[:n_batch])
        ]
        whole = _torch["broadcast_tensors"](*batch, rows, columns)
        at = _torch["stack"]([index.reshape(-1) for index in whole])
        return at, self._held.reshape(at.shape[1], *self.shape[n_batch + 2 :])

    def at_its_places(self, t: Any) -> CompressedTensor:
        """Return the elements of a tensor of this size at the places of this one's."""
        dense = t.to_dense() if isinstance(t, TensorOfParts) else t
        at, _ = self.coordinates()
        return self._with(dense[tuple(at)].reshape(self._held.shape))

    @following(in_coordinates)
    def to_coordinates(self) -> SparseTensor:
        """Convert to coordinate form; indices are sorted where rows of elements are."""
        at, values = self.coordinates()
        return SparseTensor(at, values, self.shape, self.layout is sparse_csr)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """Return the dense tensor. Raises RuntimeError for a dtype, as in PyTorch."""
        if dtype is not None:
            raise RuntimeError("dtype argument is not supported by sparse_csr_to_dense")
        return self.to_coordinates().to_dense()

    def to_sparse(
        self,
        sparse_dim: Any = None,
        *,
        layout: Any = None,
        blocksize: Any = None,
        dense_dim: Any = None,
    ) -> Any:
        """Convert to coordinate form, or to another compressed layout."""
        if sparse_dim not in (None, 2):
            raise RuntimeError(
                f"sparse_compressed_to_sparse: conversion from {self.kind.name} to Sparse with "
                "sparse_dim argument !=2 is not supported"
            )
        if layout not in (None, sparse_coo):
            return compressing[layout](self, blocksize, dense_dim)
        return self.to_coordinates()

    def to_sparse_coo(self) -> SparseTensor:
        """Convert to coordinate form."""
        return self.to_sparse()

    def _filled(self, value: Any, layout: Any) -> CompressedTensor:
        """Return the tensor with all elements set to a value; without elements for 0, and with
        those of new memory for None. RuntimeError for another layout."""
        if layout is not self.layout:
            words = str(layout).removeprefix("torch.").removesuffix("_coo").split("_")
            raise RuntimeError(
                "empty_like with different sparse layout is not supported (self is "
                f"{self.kind.name} but you requested {''.join(w.title() for w in words)})"
            )
        held, n = self._held.detach(), self.n_batch()
        if value is None:
            return self._with(_torch["empty_like"](held))
        if value != 0:
            return self._with(_torch["full_like"](held, value))
        return CompressedTensor(
            self._compressed * 0,
            self._plain[..., :0],
            held.new_empty((*held.shape[:n], 0, *held.shape[n + 1 :])),
            self.shape,
            self.layout,
        )

    def _in_own_layout(self, gradient: Any) -> Any:
        return compressing[self.layout](gradient, self.blocksize(), None)

    @following(as_it_is)
    def clone(self, *, memory_format: Any = None) -> CompressedTensor:
        """Return a copy."""
        return self._of([part.clone() for part in self._storage.cell.tensors()], self.shape)

    def copy_(self, source: Any, non_blocking: Any = False) -> CompressedTensor:
        """Take over indices and values of another tensor of this layout and size."""
        if source.layout is not self.layout:
            names = [name_of(x.layout) for x in (self, source)]
            raise RuntimeError(
                "torch.copy_: copy of sparse compressed tensors having different layouts is not "
                f"supported. self layout is {names[0]} and src layout is {names[1]}"
            )
        if tuple(source.shape) != tuple(self.shape) or source._nnz() != self._nnz():
            raise RuntimeError(
                "torch.copy_: only sparse compressed tensors with the same number of specified "
                "elements are supported."
            )
        return self._become(source.clone().to(self.dtype))

    def _become(self, other: CompressedTensor) -> CompressedTensor:
        check_in_place(self)
        self._storage.write(other._storage.cell)
        return self

    def resize_(self, *size: Any, memory_format: Any = None) -> CompressedTensor:
        """Change the number of rows, and make columns more, in place: of fewer rows the last one
        left has all elements of those that are cut off.

        RuntimeError for fewer columns, NotImplementedError for another layout than a CSR matrix.
        """
        given = ints(size[0] if len(size) == 1 else size)
        if given[-1] < self.shape[1]:
            raise RuntimeError(
                "torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not "
                f"supported. The original number of columns is {self.shape[1]} while the requested "
                f"new number of columns is {given[-1]}."
            )
        if self.layout is not sparse_csr or self.n_batch() or len(given) != 2:
            raise NotImplementedError(
                f"resize_() of a {self.kind.name} tensor to {list(given)}: a CSR matrix becomes "
                "another matrix; use to_dense(), or make a new tensor"
            )
        rows = given[0]
        nnz = min(self._nnz(), rows * given[1])
        begins = self._compressed[: rows + 1]
        last = begins.new_full((1,), nnz)
        if rows < self.shape[0]:
            begins = _torch["cat"]([begins[:-1], last])
        else:
            begins = _torch["cat"]([begins, last.expand(rows - self.shape[0])])
        parts = begins, self._plain[:nnz], self._held[:nnz]
        return self._become(self._of(parts, given))

    def resize_as_sparse_(self, the_template: Any) -> CompressedTensor:
        """Take over the size, and indices and values without elements, of another compressed
        tensor."""
        if not isinstance(the_template, CompressedTensor):
            raise RuntimeError(
                "resize_as_sparse_compressed_: src  expected sparse compressed tensor layout but "
                f"got {name_of(the_template.layout)}"
            )
        return self._become(the_template.clone().to(self.dtype))

    # -- geometry ----------------------------------------------------------------------------------

    @following(lambda g, _, dims: g.permute(tuple(np.argsort(dims).tolist())))
    def _permuted(self, dims: tuple[int, ...]) -> CompressedTensor:
        """Swap rows and columns: the same indices in the other layout."""
        n = self.n_batch()
        if dims == tuple(range(self.dim())):
            return self._with(self._held)
        swapped = (*range(n), n + 1, n, *range(n + 2, self.dim()))
        if dims != swapped:
            raise RuntimeError(
                f"transpose(): can only transpose the sparse dimensions of a {self.kind.name} "
                "tensor"
            )
        values = self._held.transpose(n + 1, n + 2) if self.kind.in_blocks else self._held
        size = [self.shape[d] for d in dims]
        return CompressedTensor(
            self._compressed, self._plain, values, size, TRANSPOSED[self.layout]
        )

    @property
    def mT(self) -> Any:
        """Each matrix of a batch transposed."""
        return self.transpose(self.n_batch(), self.n_batch() + 1)

    @following(lambda g, size, dim, index: through(lambda x: x.select(dim, index), size)(g))
    def _selected(self, dim: int, index: int) -> Tensor:
        """Return one row, column or matrix."""
        if dim < self.n_batch():
            parts = [part.select(dim, index) for part in self._storage.cell.tensors()]
            return self._of(parts, (*self.shape[:dim], *self.shape[dim + 1 :]))
        return self.to_coordinates().coalesce().select(dim, index)

    def _refuse_slice(self) -> None:
        raise RuntimeError("Sparse CSR tensors do not have strides")

    def __iter__(self) -> Iterator[Tensor]:
        return (self.select(0, i) for i in range(self.shape[0]))


# As an argument or a result of a jitted function it is its indices and values.
trees.register(
    CompressedTensor,
    lambda t: ([*t._storage.cell.tensors()], (t.shape, t.layout, mark_of(t))),
    lambda parts, context: marked(CompressedTensor(*parts, *context[:-1]), context[-1]),
)


# -- making them -----------------------------------------------------------------------------------


@composite(method=False)
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CompressedTensor:
    """Return a tensor of a compressed ``layout``; its size is the least that holds the indices
    unless given.

    RuntimeError for another layout, sizes that do not fit and (eagerly) indices that are out of
    range or, with ``check_invariants`` (by default what `check_sparse_tensor_invariants` says), not
    sorted or not distinct.

    Differs from PyTorch: that indices are in range is always checked.
    """
    if layout not in KINDS:
        got = "none" if layout is None else "Strided" if layout is not sparse_coo else "Sparse"
        raise RuntimeError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {got}"
        )
    kind = KINDS[layout]
    outer, inner = (
        index.detach() if isinstance(index, Tensor) else make_tensor(index, dtype=dtypes.int64)
        for index in (compressed_indices, plain_indices)
    )
    held = values if isinstance(values, Tensor) else make_tensor(values)
    if dtype is not None or device is not None:
        held = held.to(dtype=dtype or held.dtype, device=device)
    if size is None:
        modes.running_capture().refuse(f"{kind.function} without a size", "size=")
        size = _least_size(kind, outer, inner, held)
    shape = ints(size)
    if check_invariants is None:
        check_invariants = check_sparse_tensor_invariants.is_enabled()
    _validate(kind, outer, inner, held, shape, check_invariants)
    held = own_values(held, requires_grad)
    made = CompressedTensor(outer, inner, held, shape, layout)
    return made._become_leaf() if requires_grad else made


def _validate(
    kind: CompressedLayout,
    outer: Tensor,
    inner: Tensor,
    held: Tensor,
    size: tuple[int, ...],
    in_order: bool,
) -> None:
    """Raise RuntimeError unless indices and values make a tensor of a layout and size; a capture
    does not look at the indices."""
    check_shapes(kind, outer, inner, held, size)
    if modes.is_capturing():
        return
    block = held.shape[outer.dim() : outer.dim() + 2] if kind.in_blocks else (1, 1)
    n_inner = size[outer.dim() - 1 + kind.by_rows] // max(block[kind.by_rows], 1)
    known = [index._value(kind.function) for index in (outer, inner)]
    check_indices(kind, known[0], known[1], n_inner, in_order)


@composite(method=False)
def _validate_sparse_compressed_tensor_args(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Any, layout: Any
) -> None:
    """Raise RuntimeError unless indices and values make a tensor of a compressed ``layout`` and
    size."""
    if layout not in KINDS:
        raise RuntimeError(
            "expected compressed sparse layout (SparseCsr, SparseCsc, SparseBsr or SparseBsc), "
            f"but got {layout}"
        )
    _validate(KINDS[layout], compressed_indices, plain_indices, values, ints(size), True)


def _least_size(
    kind: CompressedLayout, outer: Tensor, inner: Tensor, held: Tensor
) -> tuple[int, ...]:
    n_batch = outer.dim() - 1
    block = held.shape[n_batch + 1 : n_batch + 3] if kind.in_blocks else (1, 1)
    largest = int(inner._value(kind.function).max()) if inner.numel() else -1
    counts = [outer.shape[-1] - 1, largest + 1]
    rows, columns = counts if kind.by_rows else counts[::-1]
    dense = held.shape[n_batch + 1 + 2 * kind.in_blocks :]
    return (*outer.shape[:-1], rows * block[0], columns * block[1], *dense)


def _creation(kind: CompressedLayout) -> None:
    """Register the function that makes tensors of one layout, whose arguments have its names."""

    def of_rows(
        crow_indices: Any,
        col_indices: Any,
        values: Any,
        size: Any = None,
        *,
        dtype: Any = None,
        layout: Any = None,
        **options: Any,
    ) -> CompressedTensor:
        return make(crow_indices, col_indices, values, size, dtype, layout, options)

    def of_columns(
        ccol_indices: Any,
        row_indices: Any,
        values: Any,
        size: Any = None,
        *,
        dtype: Any = None,
        layout: Any = None,
        **options: Any,
    ) -> CompressedTensor:
        return make(ccol_indices, row_indices, values, size, dtype, layout, options)

    def make(
        outer: Any, inner: Any, values: Any, size: Any, dtype: Any, layout: Any, options: Any
    ) -> CompressedTensor:
        if layout not in (None, kind.layout):
            raise RuntimeError(f"{kind.function}: expected layout {kind.layout!r}, got {layout!r}")
        return sparse_compressed_tensor(
            outer, inner, values, size, dtype=dtype, layout=kind.layout, **options
        )

    def validate(compressed: Tensor, plain: Tensor, values: Tensor, size: Any) -> None:
        _validate(kind, compressed, plain, values, ints(size), True)

    validating = f"_validate_{kind.function}_args"
    validate.__name__ = validate.__qualname__ = validating
    validate.__doc__ = f"Raise RuntimeError unless `{kind.function}` could be made of these."
    composite(validating, method=False)(validate)

    function = of_rows if kind.by_rows else of_columns
    function.__name__ = function.__qualname__ = kind.function
    function.__doc__ = (
        f"``sparse_compressed_tensor`` of layout {kind.layout!r}: {kind.compressed}, {kind.plain}, "
        "values and a size. RuntimeError as there."
    )
    composite(kind.function, method=False)(function)


for _kind in KINDS.values():
    _creation(_kind)


# -- without elements ------------------------------------------------------------------------------


def _without_elements(kind: CompressedLayout) -> None:
    """Let ``zeros(layout=…)`` and kin make tensors of one layout."""

    def make(size: Sequence[int], dtype: Any, device: Any, like: Any) -> CompressedTensor:
        if kind.in_blocks:
            raise RuntimeError(
                "zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but "
                f"got {kind.name}"
            )
        if len(size) < 2:
            raise RuntimeError(
                "torch.zeros: Only batched sparse compressed (non-block) tensors are supported, "
                f"but got size {list(size)}"
            )
        *batch, rows, columns = size
        n = rows if kind.by_rows else columns
        outer = _torch["zeros"]((*batch, n + 1), dtype=dtypes.int64)
        inner = _torch["zeros"]((*batch, 0), dtype=dtypes.int64)
        held = _torch["zeros"]((*batch, 0), dtype=dtype, device=device)
        return CompressedTensor(outer, inner, held, size, kind.layout)

    WITHOUT_ELEMENTS[kind.layout] = make


for _kind in KINDS.values():
    _without_elements(_kind)
