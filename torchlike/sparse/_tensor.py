"""A tensor in coordinate form: the indices of what is not zero, and its values.

Both are dense tensors, so gradients are those of the values. What can be computed with it is in
``_rules.py`` and kin; a function that does not know it says so instead of computing nonsense.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._core import devices, dtypes, errors, modes, overrides
from torchlike._core.dispatch.registry import NAMESPACES, composite
from torchlike._core.dispatch.schema import ints
from torchlike._core.layouts import sparse_coo
from torchlike._extensions.parts_storage import PartsStorage
from torchlike._extensions.sparse_array import SparseArray
from torchlike._ops.creation.filled import WITHOUT_ELEMENTS
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.linalg.sparse_products import coalesced_values
from torchlike._runtime import trees
from torchlike.sparse._elsewhere import (
    as_it_is,
    converted,
    following,
    mark_of,
    marked,
    of,
    spill,
    through,
    without_history,
)
from torchlike.sparse._geometry import WithoutMemory, own_method
from torchlike.tensor import Tensor, add_method

_torch = NAMESPACES[""]
#: Layout -> ``convert(tensor, blocksize, dense_dim)``, filled by _compressed.py.
compressing: dict[Any, Any] = {}
_INSTEAD = "torchlike.nonzero_static, or make the sparse tensor outside the jit"


class SparseTensor(WithoutMemory, cell=SparseArray):
    """``indices`` (sparse_dim, nnz), ``values`` (nnz, *dense sizes), a size. Duplicates add up.

    Its cell holds a SparseArray of two dense tensors, so gradients are those of the values. Ops
    without a rule raise NotImplementedError.
    """

    __module__ = "torchlike.sparse._tensor"
    layout: Any = sparse_coo
    is_sparse = True

    def __new__(cls, indices: Tensor, values: Tensor, size: Any, coalesced: bool) -> SparseTensor:
        return cls._on(PartsStorage(SparseArray(indices, values, size, coalesced)))

    # -- what it is --------------------------------------------------------------------------------

    @property
    def _at(self) -> Tensor:
        return self._storage.cell.at

    def sparse_dim(self) -> int:
        """Return how many dimensions have indices."""
        return self._at.shape[0]

    def dense_dim(self) -> int:
        """Return how many dimensions each value has."""
        return self._held.dim() - 1

    _dimI, _dimV = sparse_dim, dense_dim

    def coordinates(self) -> tuple[Tensor, Tensor]:
        """Return indices (sparse_dim, nnz) and values (nnz, *dense sizes)."""
        return self._at, self._held

    def _nnz(self) -> int:
        return self._held.shape[0]

    def _indices(self) -> Tensor:
        return self._at

    def _values(self) -> Tensor:
        return self._held

    def is_coalesced(self) -> bool:
        """Return whether indices are sorted and distinct."""
        return self._storage.cell.coalesced

    def _coalesced_(self, coalesced: bool) -> SparseTensor:
        """Set whether the indices are sorted and distinct."""
        cell = self._storage.cell
        said = SparseArray(cell.at, cell.held, cell.shape, coalesced)
        said.coalesced = coalesced  # also of a single value, which is sorted anyway
        self._storage.cell = said
        return self

    def _require_coalesced(self, what: str) -> None:
        if not self.is_coalesced():
            raise RuntimeError(
                f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
            )

    def indices(self) -> Tensor:
        """Return the indices (sparse_dim, nnz). Raises RuntimeError unless coalesced."""
        self._require_coalesced("indices")
        return self._at

    def values(self) -> Tensor:
        """Return the values (nnz, …). Raises RuntimeError unless coalesced."""
        self._require_coalesced("values")
        return self._held

    def type(self, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        """Return the name of its old class, or the tensor in another dtype."""
        if dtype is not None:
            return self.to(dtype)
        return super().type().replace("torch.", "torch.sparse.", 1)

    def _gradient_of(self, values: Tensor) -> SparseTensor:
        """Return the gradient of the values as a tensor that is sparse like this one, coalesced
        (duplicates have it in common)."""
        if self.is_coalesced():
            return self._with(values)
        at, first = np.unique(self._at._value("grad", _INSTEAD), axis=1, return_index=True)
        chosen = values[make_tensor(first.astype(np.int64))]
        return SparseTensor(make_tensor(at.astype(np.int64)), chosen, self.shape, True)

    def __repr__(self) -> str:
        suffixes = [
            f"size={tuple(self.shape)}",
            f"nnz={self._nnz()}",
            *self._said(),
            "layout=torch.sparse_coo",
            *self._said_of_gradients(),
        ]
        parts = self._parts_shown([("indices", self._at)], 8)
        return f"tensor({parts},\n       {', '.join(suffixes)})"

    def __bool__(self) -> bool:
        if self.numel() != 1:
            return super().__bool__()
        return bool(self._held.sum() != 0)

    def item(self) -> Any:
        """Return the tensor's one number. Raises RuntimeError where it has more elements than
        one."""
        if self.numel() != 1:
            raise RuntimeError(errors.NO_SCALAR.format(self.numel()))
        return self._held.sum().item()

    # -- conversions -------------------------------------------------------------------------------

    def _of(self, parts: Sequence[Tensor], size: Any) -> SparseTensor:
        indices, values = parts
        return SparseTensor(indices, values, size, self.is_coalesced())

    def _with(self, values: Tensor) -> SparseTensor:
        """Return a tensor with other values at the same places."""
        return SparseTensor(self._at, values, self.shape, self.is_coalesced())

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """Return the dense tensor, with duplicates added."""
        values = self._held if dtype is None else self._held.to(dtype)
        whole = values.new_zeros(tuple(self.shape))
        if not self.sparse_dim():
            return whole + values.sum(0)
        if not self._nnz():
            return whole + values.sum() if values.requires_grad else whole
        return whole.index_put(tuple(self._at), values, accumulate=True)

    def to_sparse(
        self,
        sparse_dim: Any = None,
        *,
        layout: Any = None,
        blocksize: Any = None,
        dense_dim: Any = None,
    ) -> Any:
        """Return the tensor itself, or convert it to a compressed layout. Raises RuntimeError for
        another number of sparse dimensions."""
        if layout in (None, sparse_coo):
            if sparse_dim not in (None, self.sparse_dim()):
                raise RuntimeError(
                    "to_sparse: conversion from Sparse to Sparse with sparse_dim argument "
                    "!=self.sparse_dim() is not supported"
                )
            return self
        return compressing[layout](self, blocksize, dense_dim)

    @following(as_it_is)
    def coalesce(self) -> SparseTensor:
        """Return the tensor sorted by indices, with duplicates added. Raises JitCaptureError under
        a jit: how many remain depends on values."""
        if self.is_coalesced():
            return self
        at = self._at._value("coalesce()", _INSTEAD)
        unique, slot = np.unique(at, axis=1, return_inverse=True)
        values = coalesced_values(
            self._held,
            make_tensor(slot.reshape(-1).astype(np.int64)),
            unique.shape[1],
            self.dtype is dtypes.bool,
        )
        return SparseTensor(make_tensor(unique.astype(np.int64)), values, self.shape, True)

    @following(as_it_is)
    def clone(self, *, memory_format: Any = None) -> SparseTensor:
        """Return a copy."""
        return SparseTensor(self._at.clone(), self._held.clone(), self.shape, self.is_coalesced())

    def new(self, *args: Any, device: Any = None) -> SparseTensor:
        """Make another sparse tensor: ``sparse_coo_tensor`` by its old name. Numbers, or nothing,
        are the size of an empty one. Raises TypeError for values or a list alone, RuntimeError for
        a device of another type."""
        if device is not None and devices.device(device).type != self.device.type:
            raise RuntimeError(
                f"legacy constructor expects device type: {self.device.type} but device type: "
                f"{devices.device(device).type} was passed"
            )
        if len(args) == 1 and isinstance(args[0], (Tensor, list)):
            raise TypeError(
                "new() of a sparse tensor takes indices and values, or a size of numbers"
            )
        if not any(isinstance(a, (Tensor, Sequence)) for a in args):
            return self.new_zeros(args or (0,))
        return sparse_coo_tensor(*args, device=device)

    def new_zeros(self, *size: Any, dtype: Any = None) -> SparseTensor:
        """Return a sparse tensor of any size without elements."""
        shape = ints(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
        return sparse_coo_tensor(size=shape, dtype=dtype or self.dtype)

    # -- geometry ----------------------------------------------------------------------------------

    @following(lambda g, _, dims: g.permute(tuple(np.argsort(dims).tolist())))
    def _permuted(self, dims: tuple[int, ...]) -> SparseTensor:
        n = self.sparse_dim()
        order, dense = list(dims[:n]), [d - n + 1 for d in dims[n:]]
        if any(d >= n for d in order):
            raise RuntimeError(
                "transpositions between sparse and dense dimensions are not allowed: sparse_dim is "
                f"{n}, and the order of dimensions {list(dims)}"
            )
        size = [self.shape[d] for d in dims]
        is_moved = order != sorted(order)
        values = self._held if dense == sorted(dense) else self._held.permute(0, *dense)
        at = self._at[order] if is_moved else self._at
        return SparseTensor(at, values, size, self.is_coalesced() and not is_moved)

    def t(self) -> Any:
        """Return the transpose of a matrix. Raises RuntimeError for more dimensions, and for dense
        ones."""
        if self.dim() > 2 or self.dense_dim():
            raise RuntimeError(
                "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
                f"{self.sparse_dim()} sparse and {self.dense_dim()} dense dimensions"
            )
        return self.transpose(0, 1) if self.dim() == 2 else self

    T = property(t)

    @following(lambda g, size, dim, index: through(lambda x: x.select(dim, index), size)(g))
    def _selected(self, dim: int, index: int) -> SparseTensor | Tensor:
        """Select one index of a dimension. Raises JitCaptureError under a jit for a dimension with
        indices."""
        n, size = self.sparse_dim(), (*self.shape[:dim], *self.shape[dim + 1 :])
        if dim >= n:
            values = self._held.select(dim - n + 1, index)
            return SparseTensor(self._at, values, size, self.is_coalesced())
        here = np.flatnonzero(self._at[dim]._value("sparse[int]", _INSTEAD) == index)
        chosen = make_tensor(here.astype(np.int64))
        if n == 1:
            return self._held[chosen].sum(0)
        at = self._at[[d for d in range(n) if d != dim]][:, chosen]
        return SparseTensor(at, self._held[chosen], size, self.is_coalesced())

    @following(lambda g, _, dim: g.select(dim, 0))
    def _unsqueezed(self, dim: int) -> SparseTensor:
        """Insert a dimension of size 1: with indices up to behind the last sparse one, else
        dense."""
        n, size = self.sparse_dim(), (*self.shape[:dim], 1, *self.shape[dim:])
        if dim > n:
            return SparseTensor(
                self._at, self._held.unsqueeze(dim - n + 1), size, self.is_coalesced()
            )
        at, row = self._at, self._at.new_zeros((1, self._nnz()))
        at = _torch["cat"]([at[:dim], row, at[dim:]])
        return SparseTensor(at, self._held, size, self.is_coalesced())


# As an argument or a result of a jitted function it is its indices and values.
trees.register(
    SparseTensor,
    lambda t: ([t._at, t._held], (t.shape, t.is_coalesced(), mark_of(t))),
    lambda parts, context: marked(SparseTensor(*parts, *context[:-1]), context[-1]),
)


# -- making them -----------------------------------------------------------------------------------


def _without_elements(size: Sequence[int], dtype: Any, device: Any, like: Any) -> SparseTensor:
    n = like.sparse_dim() if isinstance(like, SparseTensor) else len(size)
    at = make_tensor(np.zeros((n, 0), np.int64))
    held = _torch["zeros"]((0, *size[n:]), dtype=dtype, device=device)
    return SparseTensor(at, held, size, True)


WITHOUT_ELEMENTS[sparse_coo] = _without_elements


@composite(method=False)
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """Return a sparse tensor of ``indices`` (sparse_dim, nnz) and ``values`` (nnz, …); its size is
    the least that holds the indices unless given. ``sparse_coo_tensor(size=…)`` is empty.

    RuntimeError for sizes that do not fit and (eagerly) for indices out of range.

    Differs from PyTorch: indices are always checked.
    """
    if values is None and (size is not None or indices is not None):
        shape = ints(size if size is not None else indices)
        at = make_tensor(np.zeros((len(shape), 0), np.int64))
        held = _torch["zeros"](0, dtype=dtype, device=device, requires_grad=requires_grad)
        made = SparseTensor(at, held, shape, True)
        return made._become_leaf() if requires_grad else made
    at = indices if isinstance(indices, Tensor) else make_tensor(indices, dtype=dtypes.int64)
    held = values if isinstance(values, Tensor) else make_tensor(values)
    at = at.detach().to(dtypes.int64)
    if dtype is not None or device is not None:
        held = held.to(dtype=dtype or held.dtype, device=device)
    held = held if held.dim() else held.unsqueeze(0).expand(at.shape[1:])
    if at.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(at.shape)}")
    if at.shape[1] != held.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {at.shape[1]}, nnz "
            f"from values: {held.shape[0]}"
        )
    known: Any = None if modes.is_capturing() else at._value("sparse_coo_tensor")
    if size is None:
        modes.running_capture().refuse("sparse_coo_tensor without a size", "size=")
        shape = (*(int(n) + 1 for n in known.max(1, initial=-1)), *held.shape[1:])
    else:
        shape = ints(size)
        errors.check_count(shape)
    n, m = at.shape[0], held.dim() - 1
    if len(shape) != n + m:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {n}, dense_dim = {m}"
        )
    if tuple(held.shape[1:]) != shape[n:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[at.shape[1], *shape[n:]]}, got "
            f"{list(held.shape)}"
        )
    if known is not None and known.size:
        for d in range(n):
            if known[d].min() < 0:
                raise RuntimeError(f"found negative index {known[d].min()} for dim {d}")
            if known[d].max() >= shape[d]:
                raise RuntimeError(
                    f"size is inconsistent with indices: for dim {d}, size is {shape[d]} but found "
                    f"index {known[d].max()}"
                )
    held = own_values(held, requires_grad)
    if is_coalesced and known is not None and not _is_sorted(known):
        raise RuntimeError(
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
        )
    made = SparseTensor(at, held, shape, bool(is_coalesced))
    return made._become_leaf() if requires_grad else made


def own_values(values: Any, requires_grad: bool) -> Tensor:
    """Return the values of a new tensor: another leaf than the tensor given, so that settings of
    the new one leave that unchanged; what has history keeps it."""
    if requires_grad:
        return values.detach().requires_grad_()
    return values if values.requires_grad else values.detach()


def _is_sorted(at: np.ndarray) -> bool:
    """Return whether indices (sparse_dim, nnz) are sorted and distinct."""
    step = np.diff(at, axis=1)
    first = np.argmax(step != 0, axis=0)  # the first dimension in which neighbours differ
    return bool((np.take_along_axis(step, first[None], 0) > 0).all()) if len(at) else True


@composite(namespaces=())
def to_sparse(
    self: Any,
    sparse_dim: Any = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: Any = None,
) -> SparseTensor:
    """Convert to coordinate form, without the zeros (the last dimensions stay dense when
    ``sparse_dim`` is less than all), or to a compressed ``layout``. Raises JitCaptureError under a
    jit, NotImplementedError under make_fx."""
    if any(getattr(mode, "makes_graph", False) for mode in overrides.state.dispatch_modes):
        raise NotImplementedError(
            "make_fx: to_sparse() depends on values, which a graph does not have. Make the sparse "
            "tensor outside"
        )
    if own := own_method(self, "to_sparse"):
        return own(self, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)
    if layout not in (None, sparse_coo):
        return compressing[layout](self, blocksize, dense_dim)
    n = self.dim() if sparse_dim is None else int(sparse_dim)
    if not (0 <= n <= self.dim()) or (n == 0 and self.dim()):
        raise RuntimeError(
            f"sparse_dim must be in (0, {self.dim()}] when creating a sparse tensor, got {n}"
        )
    there = self.detach()._value("to_sparse()", _INSTEAD) != 0
    there = there.any(tuple(range(n, self.dim()))) if n < self.dim() else there
    at = np.stack(np.nonzero(there)) if n else np.zeros((0, int(there)), np.int64)
    indices = make_tensor(at.astype(np.int64))
    values = self[tuple(indices)] if n else self.reshape(1)[: int(there)]
    return converted(SparseTensor(indices, values, tuple(self.shape), True), self)


@composite(namespaces=())
def sparse_mask(self: Any, mask: Any) -> Any:
    """Return the elements at the places of ``mask``, in its layout."""
    if tuple(self.shape) != tuple(mask.shape):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} "
            f"but mask has size {list(mask.shape)}"
        )
    elsewhere = of(self)
    given = self if elsewhere is None else without_history(self)
    if isinstance(mask, SparseTensor):
        found = mask._with(given.to_dense()[tuple(mask._at)])
    else:
        found = mask.at_its_places(given)
    if elsewhere is None:
        return found
    return spill("SparseMaskBackward0", found, [(elsewhere, as_it_is)])


def _to_dense(self: Tensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """Return the tensor itself (in another dtype)."""
    if own := own_method(self, "to_dense"):
        return own(self, dtype, masked_grad=masked_grad)
    return self if dtype is None else self.to(dtype)


if "to_dense" not in Tensor.__dict__:
    add_method("to_dense", _to_dense)
