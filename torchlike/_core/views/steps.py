"""Steps: the view kinds, each a pure pair, read and write-back, with PyTorch's geometry."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import casts
from torchlike._core.errors import check_bytes, check_count
from torchlike._core.views.geometry import UNKNOWN, Geometry, memory_index

if TYPE_CHECKING:
    from jax.typing import DTypeLike

#: A dynamic integer of a step.
Index = int | jax.Array


class Step:
    """One link of a view chain. Subclasses say read, write and geometry."""

    __slots__ = ("params",)
    params: tuple[Any, ...]
    #: How many dynamic integers the step takes.
    dynamic = 0
    #: Whether each element of the view is one element of the base (else: written by index map).
    injective = True
    #: Whether each element of the view is an element of the base as it is, bit for bit.
    rearranges = True
    #: ``read(x, *dynamic)``, the view of an array; ``write(x, value, *dynamic)``, the array with
    #: another view (of injective steps); ``geometry(g, *dynamic)``, that of the view.
    read: Callable[..., jax.Array]
    write: Callable[..., jax.Array]
    geometry: Callable[..., Geometry]

    def __init__(self, *params: Hashable) -> None:
        self.params = params

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.params}"

    def __reduce__(self) -> tuple[object, ...]:
        return step, (type(self), *self.params)  # unpickled steps are interned too


@functools.cache
def step(kind: type[Step], *params: Hashable) -> Step:
    """Return the interned step of this kind with these static parameters."""
    return kind(*params)


class Alias(Step):
    """The whole (detach, view_as, alias)."""

    __slots__ = ()

    def read(self, x: jax.Array) -> jax.Array:
        return x

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        return value

    def geometry(self, g: Geometry) -> Geometry:
        return g


class Reshape(Step):
    """view, squeeze, unsqueeze, flatten, unflatten: same order. params: size, stride."""

    __slots__ = ()

    def read(self, x: jax.Array) -> jax.Array:
        return x.reshape(self.params[0])

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        return value.reshape(x.shape)

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry(self.params[0], self.params[1], g.offset)


class Permute(Step):
    """transpose, permute, t, movedim. params: dims."""

    __slots__ = ()

    def read(self, x: jax.Array) -> jax.Array:
        return x.transpose(self.params[0])

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        return value.transpose(tuple(np.argsort(self.params[0]).tolist()))

    def geometry(self, g: Geometry) -> Geometry:
        dims = self.params[0]
        return Geometry(tuple(g.size[d] for d in dims), tuple(g.stride[d] for d in dims), g.offset)


class Expand(Step):
    """expand: dimensions of size 1 (or new in front) repeated. params: size."""

    __slots__ = ()
    injective = False

    def __init__(self, size: tuple[int, ...]) -> None:
        check_count(size)  # here: a step is made once for each size
        super().__init__(size)

    def read(self, x: jax.Array) -> jax.Array:
        check_bytes(self.params[0], x.dtype.itemsize)
        return casts.broadcast_to(x, self.params[0])

    def geometry(self, g: Geometry) -> Geometry:
        size = self.params[0]
        if not g.size:
            return Geometry(size, (0,) * len(size), g.offset)
        new = len(size) - len(g.size)
        stride = [0] * new
        stride += [
            0 if (old == 1 and n != 1) else s
            for old, n, s in zip(g.size, size[new:], g.stride, strict=True)
        ]
        # A new leading dimension of size 1 gets the stride it would have if contiguous.
        for d in range(new - 1, -1, -1):
            if size[d] == 1:
                after = d + 1
                stride[d] = size[after] * stride[after] if after < len(size) else 1
        return Geometry(size, tuple(stride), g.offset)


class Select(Step):
    """x.select(dim, index): one dimension less. params: dim; dynamic: index."""

    __slots__ = ()
    dynamic = 1

    def read(self, x: jax.Array, index: Index) -> jax.Array:
        return lax.dynamic_index_in_dim(x, index, self.params[0], keepdims=False)

    def write(self, x: jax.Array, value: jax.Array, index: Index) -> jax.Array:
        return lax.dynamic_update_index_in_dim(x, value, index, self.params[0])

    def geometry(self, g: Geometry, index: int) -> Geometry:
        d = self.params[0]
        return Geometry(
            g.size[:d] + g.size[d + 1 :],
            g.stride[:d] + g.stride[d + 1 :],
            g.offset + index * g.stride[d],
        )


class SelectAt(Step):
    """x.select(dim, index) at an index that only the compiled program knows. params: dim; dynamic:
    index. Out of range, where nothing can be raised, it reads NaN and writes nothing."""

    __slots__ = ()
    dynamic = 1

    def _at(self, x: jax.Array, index: Index) -> Any:
        return x.at[(slice(None),) * self.params[0] + (index,)]

    def read(self, x: jax.Array, index: Index) -> jax.Array:
        return self._at(x, index).get(mode="fill")

    def write(self, x: jax.Array, value: jax.Array, index: Index) -> jax.Array:
        return self._at(x, index).set(value, mode="drop")

    def geometry(self, g: Geometry, index: Index) -> Geometry:
        d = self.params[0]
        return Geometry(g.size[:d] + g.size[d + 1 :], g.stride[:d] + g.stride[d + 1 :], UNKNOWN)


class Slice(Step):
    """x[start::step] of a given length (narrow). params: dim, length, step; dynamic: start."""

    __slots__ = ()
    dynamic = 1

    def read(self, x: jax.Array, start: Index) -> jax.Array:
        dim, length, step = self.params
        span = max((length - 1) * step + 1, 0)
        x = lax.dynamic_slice_in_dim(x, start, span, dim)
        return x if step == 1 else lax.slice_in_dim(x, 0, span, step, dim)

    def write(self, x: jax.Array, value: jax.Array, start: Index) -> jax.Array:
        dim, length, step = self.params
        if length == 0:
            return x
        if step > 1:
            span = (length - 1) * step + 1
            inner = lax.dynamic_slice_in_dim(x, start, span, dim)
            index = (slice(None),) * dim + (slice(0, span, step),)
            value = inner.at[index].set(value)
        return lax.dynamic_update_slice_in_dim(x, value, start, dim)

    def geometry(self, g: Geometry, start: int) -> Geometry:
        dim, length, step = self.params
        size, stride = list(g.size), list(g.stride)
        size[dim] = length
        stride[dim] *= step
        return Geometry(tuple(size), tuple(stride), g.offset + start * g.stride[dim])


class Diagonal(Step):
    """x.diagonal(offset, dim1, dim2): the diagonal becomes the last dimension."""

    __slots__ = ()

    def read(self, x: jax.Array) -> jax.Array:
        offset, dim1, dim2 = self.params
        return jnp.diagonal(x, offset, dim1, dim2)

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        offset, dim1, dim2 = self.params
        moved = jnp.moveaxis(x, (dim1, dim2), (-2, -1))
        i = np.arange(value.shape[-1])
        moved = moved.at[..., i + max(-offset, 0), i + max(offset, 0)].set(value)
        return jnp.moveaxis(moved, (-2, -1), (dim1, dim2))

    def geometry(self, g: Geometry) -> Geometry:
        offset, dim1, dim2 = self.params
        rows, columns = g.size[dim1], g.size[dim2]
        n = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
        start = max(offset, 0) * g.stride[dim2] + max(-offset, 0) * g.stride[dim1] if n else 0
        rest = [d for d in range(len(g.size)) if d not in (dim1, dim2)]
        return Geometry(
            (*(g.size[d] for d in rest), n),
            (*(g.stride[d] for d in rest), g.stride[dim1] + g.stride[dim2]),
            g.offset + start,
        )


class UnfoldStep(Step):
    """x.unfold(dim, size, step): sliding windows as a new last dimension."""

    __slots__ = ()
    injective = False  # windows overlap where step < size

    def read(self, x: jax.Array) -> jax.Array:
        dim, size, step = self.params
        if x.ndim == 0:
            return x[None][:size]
        count = (x.shape[dim] - size) // step + 1
        if not size:  # jnp.take forgets the second dimension of an empty index
            return jnp.zeros((*x.shape[:dim], count, *x.shape[dim + 1 :], 0), x.dtype)
        index = np.arange(count)[:, None] * step + np.arange(size)
        return jnp.moveaxis(jnp.take(x, index, axis=dim), dim + 1, -1)

    def geometry(self, g: Geometry) -> Geometry:
        dim, size, step = self.params
        if not g.size:
            return Geometry((size,), (1,), g.offset)
        count = (g.size[dim] - size) // step + 1
        new_size, new_stride = list(g.size), list(g.stride)
        new_size[dim] = count
        new_stride[dim] *= step
        return Geometry((*new_size, size), (*new_stride, g.stride[dim]), g.offset)


class AsStrided(Step):
    """as_strided over the storage's memory. params: size, stride, offset, base memory order."""

    __slots__ = ()
    injective = False  # it may reach an element twice

    def read(self, x: jax.Array) -> jax.Array:
        size, stride, offset, order = self.params
        index = memory_index(Geometry(size, stride, offset))
        return x.transpose(order).reshape(-1)[index]

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry(*self.params[:3])


class AsStridedAgain(Step):
    """as_strided as a function of the input's value, for its gradient. params: both geometries.

    As in PyTorch, an element that occurs several times in the input shares its gradient among them,
    and one that the input does not reach has none.
    """

    __slots__ = ()
    injective = False

    def read(self, x: jax.Array) -> jax.Array:
        given, wanted = (memory_index(g) for g in self.params)
        reach = max(given.max(initial=0), wanted.max(initial=0)) + 1
        times = np.maximum(np.bincount(given.reshape(-1), minlength=reach), 1)
        memory = jnp.zeros(reach, x.dtype).at[given].add(x)
        return (memory / times.astype(x.real.dtype))[wanted]

    def geometry(self, g: Geometry) -> Geometry:
        return self.params[1]


def _real_pairs(z: jax.Array) -> jax.Array:
    """Return the real and imaginary parts along a new last dimension.

    A select, as XLA for the CPU (jaxlib 0.10.2) fails to compile a concatenation of the two parts
    where it fuses them with two dynamic slices.
    """
    return jnp.where(np.arange(2) == 0, z.real[..., None], z.imag[..., None])


class ViewAsReal(Step):
    """A complex tensor as its (..., 2) real and imaginary parts."""

    __slots__ = ()
    rearranges = False

    def read(self, x: jax.Array) -> jax.Array:
        return _real_pairs(x)

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        return lax.complex(value[..., 0], value[..., 1])

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry((*g.size, 2), (*(s * 2 for s in g.stride), 1), g.offset * 2)


class ViewAsComplex(Step):
    """A (..., 2) real tensor as complex."""

    __slots__ = ()
    rearranges = False

    def read(self, x: jax.Array) -> jax.Array:
        return lax.complex(x[..., 0], x[..., 1])

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        return _real_pairs(value)

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry(g.size[:-1], tuple(s // 2 for s in g.stride[:-1]), g.offset // 2)


class Real(Step):
    """The real part of a complex tensor."""

    __slots__ = ()
    rearranges = False

    def read(self, x: jax.Array) -> jax.Array:
        return x.real

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        return lax.complex(value, x.imag)

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry(g.size, tuple(s * 2 for s in g.stride), g.offset * 2)


class Imag(Step):
    """The imaginary part of a complex tensor."""

    __slots__ = ()
    rearranges = False

    def read(self, x: jax.Array) -> jax.Array:
        return x.imag

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        return lax.complex(x.real, value)

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry(g.size, tuple(s * 2 for s in g.stride), g.offset * 2 + 1)


class Conj(Step):
    """The conjugate of a complex tensor (PyTorch's lazy conj is a view too)."""

    __slots__ = ()
    rearranges = False

    def read(self, x: jax.Array) -> jax.Array:
        return jnp.conj(x)

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        return jnp.conj(value)

    def geometry(self, g: Geometry) -> Geometry:
        return g


class Neg(Step):
    """The negative: what a checkpoint calls a tensor with its negative bit set."""

    __slots__ = ()
    rearranges = False

    def read(self, x: jax.Array) -> jax.Array:
        return -x

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        return -value

    def geometry(self, g: Geometry) -> Geometry:
        return g


class Bitcast(Step):
    """view(dtype): the same bytes read as another dtype. params: numpy dtype, size, stride, offset
    scale as a (numerator, denominator) pair."""

    __slots__ = ()
    rearranges = False

    def read(self, x: jax.Array) -> jax.Array:
        new = self.params[0]
        return _bitcast(x, new, self.params[1])

    def write(self, x: jax.Array, value: jax.Array) -> jax.Array:
        return _bitcast(value, x.dtype, x.shape)

    def geometry(self, g: Geometry) -> Geometry:
        _, size, stride, (up, down) = self.params
        return Geometry(size, stride, g.offset * up // down)


def _bitcast(x: jax.Array, new: DTypeLike, size: tuple[int, ...]) -> jax.Array:
    """Reinterpret the bytes of x; the last dimension changes by the ratio of the widths."""
    new = np.dtype(new)
    if "c" in (x.dtype.kind, new.kind):
        # XLA has no bits of complex numbers: theirs are those of their parts, one after the other.
        if x.dtype.kind == "c":
            x = jnp.stack((x.real, x.imag), -1).reshape(-1)
        if new.kind != "c":
            return _bitcast(x, new, (x.size * x.dtype.itemsize // new.itemsize,)).reshape(size)
        part = np.dtype(f"f{new.itemsize // 2}")
        parts = _bitcast(x.reshape(-1), part, (x.size * x.dtype.itemsize // part.itemsize,))
        return lax.complex(parts[0::2], parts[1::2]).reshape(size)
    old_width, new_width = x.dtype.itemsize, new.itemsize
    if x.dtype == np.bool_:
        x = x.astype(np.uint8)
    as_bool = new == np.bool_
    target = np.dtype(np.uint8) if as_bool else new
    if new_width > old_width:
        ratio = new_width // old_width
        x = x.reshape(*x.shape[:-1], x.shape[-1] // ratio, ratio)
    x = lax.bitcast_convert_type(x, target).reshape(size)
    return x.astype(np.bool_) if as_bool else x
