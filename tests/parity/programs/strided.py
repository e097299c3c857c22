"""A small tensor library on NumPy strides: values and aliasing as PyTorch has them, without it.

NumPy's views share memory as PyTorch's do, so what every tensor holds after a write can be read
off. Strides of fresh results follow NumPy's order "K", which is PyTorch's except where several
operands in different orders meet; programs compared with this reference leave those out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

float32, float64 = np.dtype(np.float32), np.dtype(np.float64)
contiguous_format = "contiguous_format"
as_strided_in_numpy = np.lib.stride_tricks.as_strided


class DType:
    """A dtype that prints as the others do."""

    def __init__(self, dtype: np.dtype) -> None:
        self.name = dtype.name
        self.is_complex = dtype.kind == "c"
        self.itemsize = dtype.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DType) and other.name == self.name

    __hash__ = None  # type: ignore[assignment]


def memory(a: np.ndarray) -> np.ndarray:
    """The array that owns the memory of ``a``."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


def plain(x: Any) -> Any:
    """Operands and indices as NumPy has them."""
    if isinstance(x, Tensor):
        return x.a
    if isinstance(x, tuple):
        return tuple(plain(i) for i in x)
    return x


def plain_index(i: Any) -> Any:
    """An index as NumPy has it; an integer in a 0-dim tensor selects, as the integer would."""
    if isinstance(i, tuple):
        return tuple(plain_index(k) for k in i)
    if isinstance(i, Tensor):
        return int(i.a) if not i.a.ndim and i.a.dtype.kind == "i" else i.a
    return i


class Tensor:
    requires_grad = False
    _base = None

    def __init__(self, a: Any, storage: Any = None) -> None:
        self.a = np.asarray(a)
        #: The array whose first element the storage begins with.
        self.storage = self.a if storage is None else storage

    def _view(self, a: Any) -> Tensor:
        return Tensor(a, self.storage)

    # What a tensor is

    dtype = property(lambda self: DType(self.a.dtype))
    shape = property(lambda self: self.a.shape)
    T = property(lambda self: self._view(self.a.T))
    mT = property(lambda self: self.transpose(-1, -2))
    data = property(lambda self: self._view(self.a))

    def dim(self) -> int:
        return self.a.ndim

    def numel(self) -> int:
        return self.a.size

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.a.itemsize for s in self.a.strides)

    def storage_offset(self) -> int:
        return (self.data_ptr() - self.storage.__array_interface__["data"][0]) // self.a.itemsize

    def data_ptr(self) -> int:
        return self.a.__array_interface__["data"][0]

    def untyped_storage(self) -> Any:
        return Tensor(self.storage)

    def is_contiguous(self) -> bool:
        return self.a.flags.c_contiguous

    def tolist(self) -> Any:
        return self.a.tolist()

    def numpy(self) -> np.ndarray:
        return self.a[...]

    def _is_view(self) -> bool:
        return self.storage is not self.a

    # Views

    def detach(self) -> Tensor:
        return self._view(self.a)

    def view(self, *shape: Any) -> Tensor:
        shape = shape[0] if isinstance(shape[0], tuple) else shape
        made = np.reshape(self.a, shape)  # ValueError where sizes do not fit
        if made.size and not np.shares_memory(made, self.a):
            raise RuntimeError("view size is not compatible")
        return self._view(made)

    def view_as(self, other: Tensor) -> Tensor:
        return self.view(other.shape)

    def reshape(self, *shape: Any) -> Tensor:
        shape = shape[0] if isinstance(shape[0], tuple) else shape
        made = np.reshape(self.a, shape)
        if made.size and not np.shares_memory(made, self.a):
            return Tensor(made.copy())
        return self._view(made)

    def flatten(self) -> Tensor:
        return self if self.dim() == 1 else self.reshape(-1)

    def ravel(self) -> Tensor:
        return self.contiguous().view(-1)

    def unflatten(self, dim: int, sizes: Any) -> Tensor:
        return self.view((sizes[0], self.shape[0] // sizes[0], *self.shape[1:]))

    def squeeze(self, dim: int | None = None) -> Tensor:
        if dim is not None and (not self.dim() or self.shape[dim] != 1):
            return self._view(self.a)
        return self._view(self.a.squeeze(dim))

    def unsqueeze(self, dim: int) -> Tensor:
        return self._view(np.expand_dims(self.a, dim))

    def transpose(self, a: int, b: int) -> Tensor:
        return self._view(self.a.swapaxes(a, b) if self.dim() else self.a)

    swapaxes = transpose

    def t(self) -> Tensor:
        return self._view(self.a.T)

    def permute(self, dims: tuple[int, ...]) -> Tensor:
        return self._view(self.a.transpose(dims))

    def movedim(self, source: int, destination: int) -> Tensor:
        return self._view(np.moveaxis(self.a, source, destination))

    def select(self, dim: int, index: int) -> Tensor:
        return self[(slice(None),) * (dim % self.dim()) + (index,)]

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        return self[(slice(None),) * (dim % self.dim()) + (slice(start, start + length),)]

    def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
        made = np.diagonal(self.a, offset, dim1, dim2)
        made.flags.writeable = True  # np.diagonal's result is read-only out of caution
        return self._view(made)

    def unfold(self, dim: int, size: int, step: int) -> Tensor:
        a = self.a
        dim %= a.ndim
        count = (a.shape[dim] - size) // step + 1
        shape, strides = list(a.shape), list(a.strides)
        shape[dim] = count
        strides[dim] *= step
        return self._view(as_strided_in_numpy(a, (*shape, size), (*strides, a.strides[dim])))

    def expand(self, size: tuple[int, ...]) -> Tensor:
        new = len(size) - self.dim()
        shape = [self.shape[d - new] if n == -1 else n for d, n in enumerate(size)]
        made = np.broadcast_to(self.a, shape)
        return self._view(as_strided_in_numpy(self.a, made.shape, made.strides))

    def expand_as(self, other: Tensor) -> Tensor:
        return self.expand(other.shape)

    def as_strided(self, size: Any, stride: Any, offset: int | None = None) -> Tensor:
        if offset is None:
            offset = self.storage_offset()
        owner = memory(self.storage)
        first = self.storage.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        flat = as_strided_in_numpy(owner, (owner.size,), (owner.itemsize,))
        flat = flat[first // owner.itemsize :]
        extent = 1 + sum(
            (n - 1) * s // owner.itemsize
            for n, s in zip(self.storage.shape, self.storage.strides, strict=True)
        )
        reach = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        if reach >= extent:
            raise RuntimeError("out of bounds")
        return self._view(
            as_strided_in_numpy(flat[offset:], size, [s * owner.itemsize for s in stride])
        )

    def split(self, sizes: Any, dim: int = 0) -> list[Tensor]:
        n = self.shape[dim]
        if isinstance(sizes, int):
            sizes = [min(sizes, n - i) for i in range(0, n, sizes)] or [0]
        starts = np.cumsum([0, *sizes])[:-1].tolist()
        return [self.narrow(dim, s, k) for s, k in zip(starts, sizes, strict=True)]

    def chunk(self, chunks: int, dim: int = 0) -> list[Tensor]:
        return self.split(max(-(-self.shape[dim] // chunks), 1), dim)

    def tensor_split(self, sections: int, dim: int = 0) -> list[Tensor]:
        return [self._view(p) for p in np.array_split(self.a, sections, dim)]

    def unbind(self, dim: int = 0) -> list[Tensor]:
        return [self.select(dim, i) for i in range(self.shape[dim])]

    def __getitem__(self, index: Any) -> Tensor:
        index = plain_index(index)
        made = self.a[index]
        basic = all(
            i is None or i is Ellipsis or isinstance(i, (int, slice)) or np.ndim(i) == 0
            for i in (index if isinstance(index, tuple) else (index,))
        )
        if not basic:
            return Tensor(_in_order_of_index(made, index))
        if not isinstance(made, np.ndarray):  # a NumPy scalar
            made = self.a[index if isinstance(index, tuple) else (index,)][...]
            full = (
                (*index, ...)
                if isinstance(index, tuple) and Ellipsis not in index
                else ((index, ...) if not isinstance(index, tuple) else index)
            )
            made = self.a[full]
        return self._view(made)

    # Values

    def clone(self, memory_format: Any = None) -> Tensor:
        return Tensor(self.a.copy("C" if memory_format else "K"))

    def contiguous(self) -> Tensor:
        return self if self.is_contiguous() else Tensor(self.a.copy("C"))

    def relu(self) -> Tensor:
        return Tensor(np.maximum(self.a, self.a.dtype.type(0)))

    def tanh(self) -> Tensor:
        return Tensor(np.tanh(self.a))

    def abs(self) -> Tensor:
        return Tensor(np.abs(self.a))

    def clamp(self, low: float, high: float) -> Tensor:
        return Tensor(np.clip(self.a, low, high))

    def add(self, other: Any, alpha: float = 1) -> Tensor:
        return Tensor(np.add(self.a, np.multiply(plain(other), _like(other, alpha))))

    def sum(self, dim: int | None = None) -> Tensor:
        made = self.a.sum(dim if self.dim() else None, dtype=self.a.dtype)
        return Tensor(np.array(made, order="C"))

    def mean(self, dim: int, keepdim: bool = False) -> Tensor:
        kept = keepdim and self.dim() > 0
        made = self.a.mean(dim if self.dim() else None, dtype=self.a.dtype, keepdims=kept)
        return Tensor(np.array(made, order="C"))

    def __neg__(self) -> Tensor:
        return Tensor(-self.a)

    def __add__(self, other: Any) -> Tensor:
        return Tensor(np.add(self.a, plain(other)))

    def __sub__(self, other: Any) -> Tensor:
        return Tensor(np.subtract(self.a, plain(other)))

    def __rsub__(self, other: Any) -> Tensor:
        return Tensor(np.subtract(self.a.dtype.type(other), self.a))

    def __mul__(self, other: Any) -> Tensor:
        return Tensor(np.multiply(self.a, plain(other)))

    def __gt__(self, other: Any) -> Tensor:
        return Tensor(self.a > plain(other))

    # Writes

    def _repeats(self) -> bool:
        return any(n > 1 and not s for n, s in zip(self.shape, self.a.strides, strict=True))

    def _written(self, value: Any, *read: Any) -> Tensor:
        """Write a value; refused as in PyTorch for repeated memory, and where an operand that was
        ``read`` and this tensor are dense and overlap partly."""
        if self._repeats():
            raise RuntimeError("more than one element refers to a single memory location")
        for other in read:
            if isinstance(other, Tensor) and _partial_overlap(self.a, other.a):
                raise RuntimeError("some elements refer to a single memory location")
        value = np.array(plain(value))  # read before the write
        if np.broadcast_shapes(value.shape, self.shape) != self.shape:
            raise RuntimeError("output with another shape")
        self.a[...] = value
        return self

    def copy_(self, other: Any) -> Tensor:
        return self if other is self else self._written(other, other)

    def fill_(self, value: float) -> Tensor:
        self.a[...] = value
        return self

    def zero_(self) -> Tensor:
        return self.fill_(0)

    def add_(self, other: Any) -> Tensor:
        return self._written(self + other, other)

    def sub_(self, other: Any, alpha: float = 1) -> Tensor:
        return self._written(self.add(other, -alpha), other)

    def mul_(self, other: Any) -> Tensor:
        return self._written(self * other, other)

    __iadd__, __imul__ = add_, mul_

    def neg_(self) -> Tensor:
        return self._written(-self)

    def relu_(self) -> Tensor:
        return self._written(self.relu())

    def tanh_(self) -> Tensor:
        return self._written(self.tanh())

    def clamp_(self, low: float, high: float) -> Tensor:
        return self._written(self.clamp(low, high))

    def masked_fill_(self, mask: Tensor, value: float) -> Tensor:
        self.a[mask.a] = value
        return self

    def index_put_(self, index: Any, value: Tensor, accumulate: bool) -> Tensor:
        assert accumulate
        if value.a.dtype != self.a.dtype:
            raise RuntimeError("Index put requires the source and destination dtypes match")
        np.add.at(self.a, plain_index(index), value.a)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        part = self[index]
        if part.storage is not self.storage:  # index tensors
            mask = any(
                np.asarray(i).dtype == bool
                for i in (plain(index) if isinstance(index, tuple) else (plain(index),))
            )
            if isinstance(value, Tensor):
                if value.a.dtype != self.a.dtype and not (mask and value.numel() == 1):
                    raise RuntimeError("Index put requires the source and destination dtypes match")
                if np.shares_memory(value.a, self.a) and _is_dense(value.a) and _is_dense(self.a):
                    raise RuntimeError("some elements refer to a single memory location")
            self.a[plain_index(index)] = np.array(plain(value))
        elif not isinstance(value, Tensor) or value.shape != part.shape:
            part._written(value)
        else:
            part._written(value, value)


def _in_order_of_index(made: np.ndarray, index: Any) -> np.ndarray:
    """What was gathered from a row-major array, laid out as PyTorch does: in the order of the one
    index array at the front, then row-major."""
    first = index[0] if isinstance(index, tuple) else index
    if np.ndim(first) < 2 or np.asarray(first).dtype == bool:
        return np.ascontiguousarray(made)
    order = np.argsort([-s for s in first.strides], kind="stable")
    order = [*order.tolist(), *range(np.ndim(first), made.ndim)]
    return np.ascontiguousarray(made.transpose(order)).transpose(np.argsort(order))


def _is_dense(a: np.ndarray) -> bool:
    """Whether the elements fill a stretch of memory without gap or overlap."""
    expected = a.itemsize
    for step, n in sorted(zip(a.strides, a.shape, strict=True)):
        if n > 1 and step != expected:
            return False
        expected *= n
    return True


def _long(a: np.ndarray) -> list[int]:
    """Strides of the dimensions with more than one element."""
    return [s for s, n in zip(a.strides, a.shape, strict=True) if n > 1]


def _partial_overlap(a: np.ndarray, b: np.ndarray) -> bool:
    same_start = a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    if same_start and a.shape == b.shape and _long(a) == _long(b):
        return False
    return np.shares_memory(a, b) and _is_dense(a) and _is_dense(b)


def _like(other: Any, number: float) -> Any:
    return other.a.dtype.type(number) if isinstance(other, Tensor) else number


def tensor(data: Any, dtype: Any = None) -> Tensor:
    whole = np.array(data)
    return Tensor(whole.astype(dtype or (whole.dtype if whole.dtype.kind in "ib" else float32)))


def from_numpy(a: np.ndarray) -> Tensor:
    return Tensor(a)


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    x, y = plain(x), plain(y)
    return Tensor(np.where(condition.a, x, y if isinstance(y, np.ndarray) else x.dtype.type(y)))


def maximum(x: Tensor, y: Tensor) -> Tensor:
    return Tensor(np.maximum(x.a, y.a))
