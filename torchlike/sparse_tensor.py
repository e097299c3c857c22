"""A tensor in coordinate form: the indices of what is not zero, and its values.

Both are dense tensors, so gradients are those of the values. Not a subclass of Tensor: a function
that does not know it says so instead of computing nonsense.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from torchlike import dtypes, errors, modes
from torchlike.dispatch.registry import NAMESPACES, add_method, composite
from torchlike.dispatch.schema import ints
from torchlike.layouts import sparse_coo
from torchlike.ops.creation import tensor as make_tensor
from torchlike.ops.joining import cat
from torchlike.ops.sparse_products import coalesced_values, sparse_matmul
from torchlike.size import Size
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]
_INSTEAD = "torchlike.nonzero_static, or make the sparse tensor outside the jit"


class SparseTensor:
    """``indices`` (sparse_dim, nnz), ``values`` (nnz, *dense sizes), a size. Duplicates add up.

    Differs from PyTorch: no instance of Tensor; the functions of ``torch`` take it only where
    ``torch.sparse`` does, the operators ``+ - * / @`` and its methods do the rest.
    """

    layout = sparse_coo
    is_sparse = True
    #: NumPy must leave ``array @ sparse`` to us.
    __array_priority__ = 1000

    def __init__(self, indices: Tensor, values: Tensor, size: Any, coalesced: bool) -> None:
        self._at: Any = indices
        self._held: Any = values
        self.shape = Size(size)
        self._coalesced = coalesced

    # -- what it is --------------------------------------------------------------------------------

    def size(self, dim: int | None = None) -> Any:
        """The size, or that of one dimension."""
        return self.shape if dim is None else self.shape[errors.wrap_dim(dim, self.dim())]

    def dim(self) -> int:
        """How many dimensions, sparse and dense."""
        return len(self.shape)

    ndim = property(dim)

    def sparse_dim(self) -> int:
        """How many dimensions have indices."""
        return self._at.shape[0]

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return self._held.dim() - 1

    def numel(self) -> int:
        """How many elements a dense tensor would have."""
        return math.prod(self.shape)

    def _nnz(self) -> int:
        return self._held.shape[0]

    def _indices(self) -> Tensor:
        return self._at

    def _values(self) -> Tensor:
        return self._held

    def is_coalesced(self) -> bool:
        """Whether indices are sorted and different."""
        return self._coalesced

    def _require_coalesced(self, what: str) -> None:
        if not self._coalesced:
            raise RuntimeError(
                f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
            )

    def indices(self) -> Tensor:
        """The indices (sparse_dim, nnz). RuntimeError unless coalesced."""
        self._require_coalesced("indices")
        return self._at

    def values(self) -> Tensor:
        """The values (nnz, …). RuntimeError unless coalesced."""
        self._require_coalesced("values")
        return self._held

    @property
    def dtype(self) -> dtypes.dtype:
        return self._held.dtype

    @property
    def device(self) -> Any:
        return self._held.device

    @property
    def requires_grad(self) -> bool:
        return self._held.requires_grad

    @property
    def grad_fn(self) -> Any:
        return self._held.grad_fn

    @property
    def is_leaf(self) -> bool:
        return self._held.is_leaf

    @property
    def grad(self) -> SparseTensor | None:
        """The gradient, sparse like this tensor, coalesced (duplicates have it in common)."""
        found = self._held.grad
        if found is None or self._coalesced:
            return None if found is None else self._with(found)
        at, first = np.unique(self._at._value("grad", _INSTEAD), axis=1, return_index=True)
        values = found[make_tensor(first.astype(np.int64))]
        return SparseTensor(make_tensor(at.astype(np.int64)), values, self.shape, True)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Let the values require gradients."""
        self._held.requires_grad_(requires_grad)
        return self

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def __repr__(self) -> str:
        def part(name: str, t: Tensor) -> str:
            text = repr(t.detach())
            if not t.numel():
                text = f"tensor([], size={tuple(t.shape)})"
            return f"{name}=" + text.replace("\n", "\n" + " " * (len(name) + 1))

        values, named = part("values", self._held), f", dtype={self.dtype}"
        lines = f"{part('indices', self._at)},\n{values.replace(named, '')},\n"
        lines += f"size={tuple(self.shape)}, nnz={self._nnz()}"
        lines += (named if named in values else "") + ", layout=torch.sparse_coo"
        if self._held.grad_fn is not None:
            lines += f", grad_fn=<{self._held.grad_fn.name()}>"
        elif self.requires_grad:
            lines += ", requires_grad=True"
        return "tensor(" + lines.replace("\n", "\n       ") + ")"

    def __bool__(self) -> bool:
        raise RuntimeError(
            errors.AMBIGUOUS_BOOL.format(what="more than one value")
            if self.numel() != 1 else "bool() of a sparse tensor: call to_dense() first"
        )  # fmt: skip

    def __len__(self) -> int:
        return self.shape[0]

    def numpy(self) -> np.ndarray:
        """TypeError: ``to_dense()`` first."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    # -- conversions -------------------------------------------------------------------------------

    def _with(self, values: Tensor) -> SparseTensor:
        """The same places with other values."""
        return SparseTensor(self._at, values, self.shape, self._coalesced)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """The dense tensor, duplicates added."""
        values = self._held if dtype is None else self._held.to(dtype)
        whole = values.new_zeros(tuple(self.shape))
        if not self.sparse_dim():
            return whole + values.sum(0)
        if not self._nnz():
            return whole + values.sum() if values.requires_grad else whole
        return whole.index_put(tuple(self._at), values, accumulate=True)

    def to_sparse(self, *_: Any, **__: Any) -> SparseTensor:
        """Itself."""
        return self

    def coalesce(self) -> SparseTensor:
        """Sorted by indices, duplicates added. JitCaptureError under a jit: how many remain
        depends on values."""
        if self._coalesced:
            return self
        at = self._at._value("coalesce()", _INSTEAD)
        unique, slot = np.unique(at, axis=1, return_inverse=True)
        values = coalesced_values(
            self._held, make_tensor(slot.reshape(-1).astype(np.int64)), unique.shape[1],
            self.dtype is dtypes.bool,
        )  # fmt: skip
        return SparseTensor(make_tensor(unique.astype(np.int64)), values, self.shape, True)

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """With another dtype or on another device."""
        return self._with(self._held.to(*args, **kwargs))

    def float(self) -> SparseTensor:
        """As float32."""
        return self.to(dtypes.float32)

    def double(self) -> SparseTensor:
        """As float64."""
        return self.to(dtypes.float64)

    def clone(self) -> SparseTensor:
        """A copy."""
        return SparseTensor(self._at.clone(), self._held.clone(), self.shape, self._coalesced)

    def detach(self) -> SparseTensor:
        """Without autograd history."""
        return self._with(self._held.detach())

    def cpu(self) -> SparseTensor:
        """On the host."""
        return self.to("cpu")

    # -- geometry ----------------------------------------------------------------------------------

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Two sparse dimensions swapped."""
        n = self.sparse_dim()
        a, b = (errors.wrap_dim(d, self.dim()) for d in (dim0, dim1))
        if max(a, b) >= n:
            raise NotImplementedError("transpose of a dense dimension: call to_dense() first")
        order = list(range(n))
        order[a], order[b] = b, a
        size = list(self.shape)
        size[a], size[b] = size[b], size[a]
        return SparseTensor(self._at[order], self._held, size, self._coalesced and a == b)

    def t(self) -> SparseTensor:
        """The transpose of a matrix."""
        if self.dim() > 2:
            raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but "
                               f"got {self.dim()}D")  # fmt: skip
        return self.transpose(0, 1) if self.dim() == 2 else self

    T = property(t)

    def __getitem__(self, index: int) -> SparseTensor | Tensor:
        """One index of the first dimension. JitCaptureError under a jit."""
        n = self.shape[0]
        if not isinstance(index, int):
            raise NotImplementedError("sparse[…] takes an int; call to_dense() for other indices")
        if not -n <= index < n:
            raise IndexError(
                f"select(): index {index} out of range for tensor of size {list(self.shape)} at "
                "dimension 0"
            )
        here = np.flatnonzero(self._at[0]._value("sparse[int]", _INSTEAD) == index % n)
        chosen = make_tensor(here.astype(np.int64))
        if self.sparse_dim() == 1:
            return self._held[chosen].sum(0)
        return SparseTensor(self._at[1:][:, chosen], self._held[chosen], self.shape[1:],
                            self._coalesced)  # fmt: skip

    # -- arithmetic --------------------------------------------------------------------------------

    def _added(self, other: SparseTensor, factor: Any) -> SparseTensor:
        if other.shape != self.shape:
            raise RuntimeError(
                f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != "
                f"{list(other.shape)}"
            )
        joined = SparseTensor(
            cat([self._at, other._at], 1), cat([self._held, other._held * factor]), self.shape,
            False,
        )  # fmt: skip
        tidy = self._coalesced and other._coalesced and modes.current.capture is None
        return joined.coalesce() if tidy else joined

    def __add__(self, other: Any) -> SparseTensor:
        if isinstance(other, SparseTensor):
            return self._added(other, 1)
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, Tensor):
            raise RuntimeError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
            )
        dense: Any = self.to_dense()
        return dense + other

    def __sub__(self, other: Any) -> SparseTensor:
        if isinstance(other, SparseTensor):
            return self._added(other, -1)
        raise RuntimeError("sub(sparse, dense) is not supported. Use sub(dense, sparse) instead.")

    def __rsub__(self, other: Tensor) -> Tensor:
        return other - self.to_dense()

    add, sub = __add__, __sub__

    def __mul__(self, other: Any) -> SparseTensor:
        """Times a number, a dense tensor that broadcasts to this, or a sparse one of this size."""
        if isinstance(other, SparseTensor):
            if other.shape != self.shape:
                raise RuntimeError(
                    f"mul: expected sizes of 'self' and 'other' to match, but {list(self.shape)} "
                    f"!= {list(other.shape)}"
                )
            return self.coalesce() * other.to_dense()
        if not isinstance(other, Tensor) or not other.dim():
            return self._with(self._held * other)
        whole: Any = other.expand(tuple(self.shape))
        there = whole[tuple(self._at)]
        return self._with(self._held * there)

    __rmul__ = __mul__
    mul = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        if isinstance(other, Tensor) and other.dim():
            raise RuntimeError(
                "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                f"{list(other.shape)} for divisor)"
            )
        return self._with(self._held / other)

    def __neg__(self) -> SparseTensor:
        return self._with(-self._held)

    def matmul(self, other: Any) -> Any:
        """This matrix times a dense vector or matrix (dense), or times a sparse matrix (sparse)."""
        if self.dim() != 2 or self.sparse_dim() != 2:
            raise NotImplementedError(
                "a product with a sparse tensor takes a sparse matrix; call to_dense() first"
            )
        rows, columns = self.shape
        if isinstance(other, SparseTensor):
            return self.matmul(other.to_dense()).to_sparse()
        return sparse_matmul(self._at, self._held, other, rows, columns)

    mm = __matmul__ = matmul

    def __rmatmul__(self, other: Tensor) -> Tensor:
        return self.t().matmul(other if other.dim() == 1 else other.t()).T

    def sum(self, dim: Any = None, dtype: Any = None) -> Any:
        """The sum: dense over all dimensions, else with the sparse dimensions that are left."""
        values = self._held if dtype is None else self._held.to(dtype)
        n = self.sparse_dim()
        every = range(self.dim())
        over = {errors.wrap_dim(d, self.dim()) for d in (
            every if dim is None else (dim,) if isinstance(dim, int) else ints(dim))}  # fmt: skip
        dense = tuple(d - n + 1 for d in sorted(over) if d >= n)
        values = values.sum(dense) if dense else values
        keep = [d for d in range(n) if d not in over]
        size = [self.shape[d] for d in every if d not in over]
        if not keep:
            return values.sum(0)
        summed = SparseTensor(self._at[keep], values, size, self._coalesced and len(keep) == n)
        return summed if modes.current.capture is not None else summed.coalesce()

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """RuntimeError: reduce to a dense scalar first."""
        raise RuntimeError("grad can be implicitly created only for scalar outputs")


# -- making them -----------------------------------------------------------------------------------


@composite(method=False)
def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
    check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A sparse tensor of ``indices`` (sparse_dim, nnz) and ``values`` (nnz, …); its size is the
    least that holds the indices unless given. ``sparse_coo_tensor(size=…)`` is empty.

    RuntimeError for sizes that do not fit and (eagerly) for indices out of range.

    Differs from PyTorch: indices are always checked.
    """
    if values is None and (size is not None or indices is not None):
        shape = ints(size if size is not None else indices)
        at = make_tensor(np.zeros((len(shape), 0), np.int64))
        held = _torch["zeros"](0, dtype=dtype, device=device, requires_grad=requires_grad)
        return SparseTensor(at, held, shape, True)
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
    known = None if modes.current.capture is not None else at._value("sparse_coo_tensor")
    if size is None:
        if known is None:
            raise RuntimeError("sparse_coo_tensor under a jit: give the size")
        if not known.size and known.shape[0]:
            raise RuntimeError("invalid indices: give the size of a tensor without elements")
        shape = (*(int(n) + 1 for n in known.max(1)), *held.shape[1:])
    else:
        shape = ints(size)
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
    made = SparseTensor(at, held, shape, bool(is_coalesced))
    if requires_grad:
        made._held = held.detach().requires_grad_()
    return made


@composite(namespaces=())
def to_sparse(self: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
              dense_dim: Any = None) -> SparseTensor:  # fmt: skip
    """What is not zero in coordinate form; the last dimensions stay dense when ``sparse_dim`` is
    less than all. JitCaptureError under a jit; NotImplementedError for compressed layouts."""
    if layout not in (None, sparse_coo):
        raise NotImplementedError(f"to_sparse(layout={layout}): only torch.sparse_coo")
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
    return SparseTensor(indices, values, tuple(self.shape), True)


@composite(namespaces=())
def sparse_mask(self: Any, mask: SparseTensor) -> SparseTensor:
    """The elements at the places of ``mask``, in coordinate form."""
    if tuple(self.shape) != tuple(mask.shape):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} "
            f"but mask has size {list(mask.shape)}"
        )
    mask = mask.coalesce()
    return mask._with(self[tuple(mask._indices())])


def _to_dense(self: Tensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """Itself (in another dtype)."""
    return self if dtype is None else self.to(dtype)


if "to_dense" not in Tensor.__dict__:
    add_method("to_dense", _to_dense)
