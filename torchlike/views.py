"""The view kinds: each a pure pair, read and write-back, with PyTorch's geometry.

A view is a chain of *steps* on a storage's array. A step is interned (one object per set of static
parameters), so that a chain is a cheap dictionary key; its integers that often change from call to
call (the index of a select, the start of a slice) are *dynamic*: they are passed to the compiled
function as arguments, so ``x[i]`` in a loop compiles once.

``read(array, *dynamic)`` gives the view's value; ``write(array, value, *dynamic)`` gives the array
with the view's part replaced. ``geometry(geometry, *dynamic)`` follows PyTorch's size, stride and
offset. To add a view kind: one class here, one function in ops/shape.py.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike import casts, errors

#: The offset of a view at an index that only the compiled program knows. Arithmetic keeps it so,
#: and comparisons with it are false.
UNKNOWN: Any = math.nan


class Geometry(NamedTuple):
    """Size, stride and storage offset, in elements, as PyTorch reports them."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


def contiguous_strides(size: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides; a dimension of size 0 counts as 1, as in PyTorch."""
    strides = []
    step = 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def is_contiguous(size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether memory order is row-major (dimensions of size 1 do not matter)."""
    if 0 in size:
        return True
    expected = 1
    for n, s in zip(reversed(size), reversed(stride), strict=True):
        if n != 1:
            if s != expected:
                return False
            expected *= n
    return True


def may_overlap(geometry: Geometry) -> bool:
    """Whether two indices reach one element (so that writing would be ambiguous)."""
    if 0 in geometry.size:
        return False
    reach = 1
    for stride, n in sorted(zip(geometry.stride, geometry.size, strict=True)):
        if n > 1:
            if stride == 0:
                return True
            if stride < reach:  # interleaved: only as_strided and unfold come here
                return not _all_distinct(geometry)
            reach += stride * (n - 1)
    return False


def memory_index(geometry: Geometry) -> np.ndarray:
    """Where each element lies in memory: an int64 array of the view's size."""
    index = np.full(geometry.size, geometry.offset)
    for d, (n, s) in enumerate(zip(geometry.size, geometry.stride, strict=True)):
        index += (np.arange(n) * s).reshape((-1,) + (1,) * (len(geometry.size) - d - 1))
    return index


def _all_distinct(geometry: Geometry) -> bool:
    index = memory_index(geometry._replace(offset=0))
    return np.unique(index).size == index.size


def dense_order(size: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions from slowest to fastest in memory (stable for equal strides)."""
    return tuple(sorted(range(len(size)), key=lambda d: (-stride[d], d)))


def dense_strides(size: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a gap-free tensor whose dimensions run from slowest to fastest as ``order``."""
    strides = [0] * len(size)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step *= max(size[d], 1)
    return tuple(strides)


def view_strides(
    size: tuple[int, ...], stride: tuple[int, ...], new: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides of ``view(new)``, or None where the memory does not allow a view.

    Old dimensions are joined into chunks that are evenly spaced in memory; each chunk must be
    filled exactly by consecutive new dimensions.
    """
    if math.prod(size) == 0:
        return stride if size == new else contiguous_strides(new)
    if not size:
        return (1,) * len(new)
    result = [0] * len(new)
    d = len(new) - 1
    chunk = 1
    base = stride[-1]
    for old in range(len(size) - 1, -1, -1):
        chunk *= size[old]
        ends = old == 0 or (size[old - 1] != 1 and stride[old - 1] != chunk * base)
        if ends:
            filled = 1
            while d >= 0 and (filled < chunk or new[d] == 1):
                result[d] = filled * base
                filled *= new[d]
                d -= 1
            if filled != chunk:
                return None
            if old > 0:
                base = stride[old - 1]
                chunk = 1
    return tuple(result) if d == -1 else None


# -- steps -----------------------------------------------------------------------------------------


class Step:
    """One link of a view chain. Subclasses say read, write and geometry."""

    __slots__ = ("params",)
    #: How many dynamic integers the step takes.
    dynamic = 0
    #: Whether each element of the view is one element of the base (else: written by index map).
    injective = True

    def __init__(self, *params: Any) -> None:
        self.params = params

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.params}"

    def __reduce__(self) -> Any:
        return step, (type(self), *self.params)  # unpickled steps are interned too

    def read(self, x: Any, *dynamic: Any) -> Any:
        raise NotImplementedError

    def write(self, x: Any, value: Any, *dynamic: Any) -> Any:
        raise NotImplementedError

    def geometry(self, g: Geometry, *dynamic: int) -> Geometry:
        raise NotImplementedError


@functools.cache
def step(kind: type[Step], *params: Any) -> Step:
    """The interned step of this kind with these static parameters."""
    return kind(*params)


class Alias(Step):
    """The whole (detach, view_as, alias)."""

    __slots__ = ()

    def read(self, x: Any) -> Any:
        return x

    def write(self, x: Any, value: Any) -> Any:
        return value

    def geometry(self, g: Geometry) -> Geometry:
        return g


class Reshape(Step):
    """view, squeeze, unsqueeze, flatten, unflatten: same order. params: size, stride."""

    __slots__ = ()

    def read(self, x: Any) -> Any:
        return x.reshape(self.params[0])

    def write(self, x: Any, value: Any) -> Any:
        return value.reshape(x.shape)

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry(self.params[0], self.params[1], g.offset)


class Permute(Step):
    """transpose, permute, t, movedim. params: dims."""

    __slots__ = ()

    def read(self, x: Any) -> Any:
        return x.transpose(self.params[0])

    def write(self, x: Any, value: Any) -> Any:
        return value.transpose(tuple(np.argsort(self.params[0]).tolist()))

    def geometry(self, g: Geometry) -> Geometry:
        dims = self.params[0]
        return Geometry(tuple(g.size[d] for d in dims), tuple(g.stride[d] for d in dims), g.offset)


class Expand(Step):
    """expand: dimensions of size 1 (or new in front) repeated. params: size."""

    __slots__ = ()
    injective = False

    def read(self, x: Any) -> Any:
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

    def read(self, x: Any, index: Any) -> Any:
        return lax.dynamic_index_in_dim(x, index, self.params[0], keepdims=False)

    def write(self, x: Any, value: Any, index: Any) -> Any:
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

    def _at(self, x: Any, index: Any) -> Any:
        return x.at[(slice(None),) * self.params[0] + (index,)]

    def read(self, x: Any, index: Any) -> Any:
        return self._at(x, index).get(mode="fill")

    def write(self, x: Any, value: Any, index: Any) -> Any:
        return self._at(x, index).set(value, mode="drop")

    def geometry(self, g: Geometry, index: Any) -> Geometry:
        d = self.params[0]
        return Geometry(g.size[:d] + g.size[d + 1 :], g.stride[:d] + g.stride[d + 1 :], UNKNOWN)


class Slice(Step):
    """x[start::step] of a given length (narrow). params: dim, length, step; dynamic: start."""

    __slots__ = ()
    dynamic = 1

    def read(self, x: Any, start: Any) -> Any:
        dim, length, step = self.params
        span = max((length - 1) * step + 1, 0)
        x = lax.dynamic_slice_in_dim(x, start, span, dim)
        return x if step == 1 else lax.slice_in_dim(x, 0, span, step, dim)

    def write(self, x: Any, value: Any, start: Any) -> Any:
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

    def read(self, x: Any) -> Any:
        offset, dim1, dim2 = self.params
        return jnp.diagonal(x, offset, dim1, dim2)

    def write(self, x: Any, value: Any) -> Any:
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


class Unfold(Step):
    """x.unfold(dim, size, step): sliding windows as a new last dimension."""

    __slots__ = ()
    injective = False  # windows overlap where step < size

    def read(self, x: Any) -> Any:
        dim, size, step = self.params
        if x.ndim == 0:
            return x[None]
        count = (x.shape[dim] - size) // step + 1
        if not size:  # jnp.take forgets the second dimension of an empty index
            return jnp.zeros((*x.shape[:dim], count, *x.shape[dim + 1 :], 0), x.dtype)
        index = np.arange(count)[:, None] * step + np.arange(size)
        return jnp.moveaxis(jnp.take(x, index, axis=dim), dim + 1, -1)

    def geometry(self, g: Geometry) -> Geometry:
        dim, size, step = self.params
        if not g.size:
            return Geometry((1,), (1,), g.offset)
        count = (g.size[dim] - size) // step + 1
        new_size, new_stride = list(g.size), list(g.stride)
        new_size[dim] = count
        new_stride[dim] *= step
        return Geometry((*new_size, size), (*new_stride, g.stride[dim]), g.offset)


class AsStrided(Step):
    """as_strided over the storage's memory. params: size, stride, offset, base memory order."""

    __slots__ = ()
    injective = False

    def read(self, x: Any) -> Any:
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

    def read(self, x: Any) -> Any:
        given, wanted = (memory_index(g) for g in self.params)
        reach = max(given.max(initial=0), wanted.max(initial=0)) + 1
        times = np.maximum(np.bincount(given.reshape(-1), minlength=reach), 1)
        memory = jnp.zeros(reach, x.dtype).at[given].add(x)
        return (memory / times.astype(x.real.dtype))[wanted]

    def geometry(self, g: Geometry) -> Geometry:
        return self.params[1]


def _real_pairs(z: Any) -> Any:
    """Real and imaginary parts along a new last dimension.

    A select, as XLA for the CPU (jaxlib 0.10.2) fails to compile a concatenation of the two parts
    where it fuses them with two dynamic slices.
    """
    return jnp.where(np.arange(2) == 0, z.real[..., None], z.imag[..., None])


class ViewAsReal(Step):
    """A complex tensor as its (..., 2) real and imaginary parts."""

    __slots__ = ()

    def read(self, x: Any) -> Any:
        return _real_pairs(x)

    def write(self, x: Any, value: Any) -> Any:
        return lax.complex(value[..., 0], value[..., 1])

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry((*g.size, 2), (*(s * 2 for s in g.stride), 1), g.offset * 2)


class ViewAsComplex(Step):
    """A (..., 2) real tensor as complex."""

    __slots__ = ()

    def read(self, x: Any) -> Any:
        return lax.complex(x[..., 0], x[..., 1])

    def write(self, x: Any, value: Any) -> Any:
        return _real_pairs(value)

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry(g.size[:-1], tuple(s // 2 for s in g.stride[:-1]), g.offset // 2)


class Real(Step):
    """The real part of a complex tensor."""

    __slots__ = ()

    def read(self, x: Any) -> Any:
        return x.real

    def write(self, x: Any, value: Any) -> Any:
        return lax.complex(value, x.imag)

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry(g.size, tuple(s * 2 for s in g.stride), g.offset * 2)


class Imag(Step):
    """The imaginary part of a complex tensor."""

    __slots__ = ()

    def read(self, x: Any) -> Any:
        return x.imag

    def write(self, x: Any, value: Any) -> Any:
        return lax.complex(x.real, value)

    def geometry(self, g: Geometry) -> Geometry:
        return Geometry(g.size, tuple(s * 2 for s in g.stride), g.offset * 2 + 1)


class Conj(Step):
    """The conjugate of a complex tensor (PyTorch's lazy conj is a view too)."""

    __slots__ = ()

    def read(self, x: Any) -> Any:
        return jnp.conj(x)

    def write(self, x: Any, value: Any) -> Any:
        return jnp.conj(value)

    def geometry(self, g: Geometry) -> Geometry:
        return g


class Bitcast(Step):
    """view(dtype): the same bytes read as another dtype. params: numpy dtype, size, stride, offset
    scale as a (numerator, denominator) pair."""

    __slots__ = ()

    def read(self, x: Any) -> Any:
        new = self.params[0]
        return _bitcast(x, new, self.params[1])

    def write(self, x: Any, value: Any) -> Any:
        return _bitcast(value, x.dtype, x.shape)

    def geometry(self, g: Geometry) -> Geometry:
        _, size, stride, (up, down) = self.params
        return Geometry(size, stride, g.offset * up // down)


def _bitcast(x: Any, new: Any, size: tuple[int, ...]) -> Any:
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


# -- chains ----------------------------------------------------------------------------------------

Steps = tuple[Step, ...]


def split_dynamic(steps: Steps, dynamic: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    parts, at = [], 0
    for s in steps:
        parts.append(dynamic[at : at + s.dynamic])
        at += s.dynamic
    return parts


def undo(chain: Sequence[tuple[Step, tuple[int, ...]]], start: Geometry) -> Steps:
    """The steps that lead back from a chain of permutations and reshapes to ``start``."""
    undone: list[Step] = []
    for s, dynamic in chain:
        if isinstance(s, Permute):
            undone.append(step(Permute, tuple(np.argsort(s.params[0]).tolist())))
        elif isinstance(s, Reshape):
            undone.append(step(Reshape, start.size, start.stride))
        elif not isinstance(s, Alias):
            raise NotImplementedError(
                "an in-place op on a view made by as_strided from a detached part of a tensor, or "
                "beside as_strided_: write into the tensor itself, or clone() the view"
            )
        start = s.geometry(start, *dynamic)
    return tuple(reversed(undone))


def read_chain(steps: Steps, x: Any, *dynamic: Any) -> Any:
    """The value of the view at the end of ``steps`` on base array ``x`` (pure)."""
    for s, d in zip(steps, split_dynamic(steps, dynamic), strict=True):
        x = s.read(x, *d)
    return x


def write_chain(steps: Steps, x: Any, value: Any, *dynamic: Any) -> Any:
    """Base array ``x`` with the view at the end of ``steps`` replaced by ``value`` (pure)."""
    parts = split_dynamic(steps, dynamic)
    first = next((i for i, s in enumerate(steps) if not s.injective), len(steps))
    stages = [x]
    for s, d in zip(steps[:first], parts[:first], strict=True):
        stages.append(s.read(stages[-1], *d))
    if first < len(steps):
        # Overlapping kinds: where each element of the view lies in the stage before them.
        stage = stages[-1]
        if value.dtype != stage.dtype:
            raise NotImplementedError(
                "writing through a view that changes the dtype after expand, unfold or as_strided "
                "is not supported: write into the base tensor, or clone() first"
            )
        rest = sum(parts[first:], ())
        index = jnp.arange(stage.size).reshape(stage.shape)
        index = read_chain(steps[first:], index, *rest)
        flat = stage.reshape(-1).at[index.reshape(-1)].set(value.reshape(-1))
        value = flat.reshape(stage.shape)
    else:
        stages.pop()
    for s, d, stage in zip(
        reversed(steps[:first]), reversed(parts[:first]), reversed(stages[:first]), strict=True
    ):
        value = s.write(stage, value, *d)
    return value


@functools.cache
def reader(steps: Steps) -> Callable[..., Any]:
    """Compiled ``read_chain``: ``reader(steps)(x, *dynamic)``."""
    return jax.jit(functools.partial(read_chain, steps), inline=True)


@functools.cache
def writer(steps: Steps, donate: bool) -> Callable[..., Any]:
    """Compiled ``write_chain`` of a value broadcast and cast to the view: ``(x, value, *dynamic)``.

    With ``donate`` the base array is given up and the write happens in its memory.
    """

    def write(x: Any, value: Any, *dynamic: Any) -> Any:
        shape = jax.eval_shape(functools.partial(read_chain, steps), x, *dynamic)
        value = casts.convert(jnp.broadcast_to(jnp.asarray(value), shape.shape), shape.dtype)
        return write_chain(steps, x, value, *dynamic)

    return jax.jit(write, donate_argnums=0 if donate else (), inline=True)


class View:
    """A chain of steps with its dynamic integers, and the geometry it comes to."""

    __slots__ = ("cached", "cached_version", "dynamic", "geometry", "steps")

    def __init__(self, steps: Steps, dynamic: tuple[int, ...], geometry: Geometry) -> None:
        self.steps = steps
        self.dynamic = dynamic
        self.geometry = geometry
        self.cached: Any = None
        self.cached_version = -1

    def __reduce__(self) -> Any:
        return View, (self.steps, self.dynamic, self.geometry)

    def links(self) -> list[tuple[Step, tuple[int, ...]]]:
        """The steps, each with its own dynamic integers."""
        return list(zip(self.steps, split_dynamic(self.steps, self.dynamic), strict=True))

    def then(self, s: Step, dynamic: tuple[int, ...]) -> View:
        """The chain with one more step.

        Reshapes in a row become one, and permutations too: chains stay short (20,000 views of
        views would copy 20,000-step tuples), and more of them are compiled alike.
        """
        steps, geometry = self.steps, s.geometry(self.geometry, *dynamic)
        if steps:
            kind, last = type(s), steps[-1]
            if kind is Alias:
                return View(steps, self.dynamic, geometry)
            if type(last) is Alias or (kind is Reshape and type(last) is Reshape):
                steps = steps[:-1]
            elif kind is Permute and type(last) is Permute:
                steps = steps[:-1]
                s = step(Permute, tuple(last.params[0][d] for d in s.params[0]))
        return View((*steps, s), self.dynamic + dynamic, geometry)


def check_writable(geometry: Geometry) -> None:
    """RuntimeError in PyTorch's words when a write would reach one element twice."""
    if may_overlap(geometry):
        raise RuntimeError(errors.OVERLAPPING_WRITE)


def is_dense(g: Geometry) -> bool:
    """Whether the elements fill a stretch of memory without gap or overlap."""
    expected = 1
    for stride, n in sorted(zip(g.stride, g.size, strict=True)):
        if n == 0:
            return True
        if n > 1:
            if stride != expected:
                return False
            expected *= n
    return True


def check_partial_overlap(
    written: Geometry, read: Geometry, *, whole: bool = False, widths: tuple[int, int] = (1, 1)
) -> None:
    """RuntimeError in PyTorch's words when an op would read memory that it is writing to in another
    order (``whole``: in any order). As in PyTorch, only dense tensors are looked at: for others
    the question is too hard, and the value read before the write counts. ``widths`` are the bytes
    of an element of each, where their dtypes may differ.
    """
    wide, narrow = widths
    if written == read and wide == narrow and not whole:
        return
    n, m = math.prod(written.size), math.prod(read.size)
    if not n or not m or not (is_dense(written) and is_dense(read)):
        return
    start, end = written.offset * wide, (written.offset + n) * wide
    other, other_end = read.offset * narrow, (read.offset + m) * narrow
    if not whole and (start, end, written.stride) == (other, other_end, read.stride):
        return
    if start < other_end and other < end:
        raise RuntimeError(errors.PARTIAL_OVERLAP)


def host_view(host: np.ndarray, geometry: Geometry, dtype: np.dtype) -> np.ndarray:
    """The NumPy view of a host buffer with this geometry (in elements of ``dtype``), writable
    where the buffer is. ``host`` begins at offset 0 and may itself be strided."""
    if math.prod(geometry.size) == 0:
        return np.empty(geometry.size, dtype)
    strided = np.lib.stride_tricks.as_strided
    width = host.dtype.itemsize
    reach = -(-((geometry.offset + 1) * dtype.itemsize) // width)
    # Bytes as bytes: as_strided finds dtypes by name, and NumPy has no name for float8_e5m2.
    by_bytes = host.view(np.uint8) if width == 1 else host
    elements = strided(by_bytes, (reach,), (width,))
    elements = elements.view(np.uint8 if dtype.itemsize == 1 else dtype)
    first = elements[geometry.offset : geometry.offset + 1]
    strides = tuple(s * dtype.itemsize for s in geometry.stride)
    return strided(first, geometry.size, strides).view(dtype)
