"""Chains of steps: a view, how it is read, how a write through it reaches the base."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.layout import Layout, with_layout_constraint

from torchlike._core import casts
from torchlike._core.views.geometry import Geometry, contiguous_strides, may_overlap
from torchlike._core.views.steps import (
    Alias,
    AsStrided,
    Conj,
    Expand,
    Imag,
    Index,
    Neg,
    Permute,
    Real,
    Reshape,
    Step,
    UnfoldStep,
    step,
)
from torchlike._runtime import first_calls, targets, x64, xla_flags
from torchlike._runtime.inlining import AT_ONCE

if TYPE_CHECKING:
    from torchlike._runtime.first_calls.families import Family

Steps = tuple[Step, ...]
D = TypeVar("D", bound=Index)


def split_dynamic(steps: Steps, dynamic: tuple[D, ...]) -> list[tuple[D, ...]]:
    parts, at = [], 0
    for s in steps:
        parts.append(dynamic[at : at + s.dynamic])
        at += s.dynamic
    return parts


def undo(chain: Sequence[tuple[Step, tuple[int, ...]]], start: Geometry) -> Steps:
    """Return the steps that lead back from a chain of permutations and reshapes to ``start``."""
    undone: list[Step] = []
    for s, dynamic in chain:
        if isinstance(s, Permute):
            undone.append(step(Permute, tuple(np.argsort(s.params[0]).tolist())))
        elif isinstance(s, Reshape):
            undone.append(step(Reshape, start.size, start.stride))
        elif not isinstance(s, Alias):
            raise NotImplementedError(
                "an in-place op on a view made by as_strided from a detached part of a tensor, or "
                "beside as_strided_ or resize_: write into the tensor itself, or clone() the view"
            )
        start = s.geometry(start, *dynamic)
    return tuple(reversed(undone))


def read_chain(steps: Steps, x: jax.Array, *dynamic: Index) -> jax.Array:
    """Return the value of the view at the end of ``steps`` on base array ``x`` (pure)."""
    for s, d in zip(steps, split_dynamic(steps, dynamic), strict=True):
        x = s.read(x, *d)
    return x


def write_chain(steps: Steps, x: jax.Array, value: jax.Array, *dynamic: Index) -> jax.Array:
    """Return base array ``x`` with the view at the end of ``steps`` replaced by ``value``
    (pure)."""
    parts = split_dynamic(steps, dynamic)
    first = next((i for i, s in enumerate(steps) if not s.injective), len(steps))
    stages = [x]
    for s, d in zip(steps[:first], parts[:first], strict=True):
        stages.append(s.read(stages[-1], *d))
    if first < len(steps):
        value = _write_by_index(steps[first:], parts[first:], stages[-1], value)
    else:
        stages.pop()
    for s, d, stage in zip(
        reversed(steps[:first]), reversed(parts[:first]), reversed(stages[:first]), strict=True
    ):
        value = s.write(stage, value, *d)
    return value


def _write_by_index(
    steps: Steps, parts: Sequence[tuple[Index, ...]], x: jax.Array, value: jax.Array
) -> jax.Array:
    """Write a chain as ``write_chain`` does where elements may be reached twice: by where each one
    lies in ``x``."""
    if all(s.rearranges or type(s) is Conj for s in steps):
        if sum(type(s) is Conj for s in steps) % 2:
            value = jnp.conj(value)
        n = len(steps)
    else:  # what changes values is undone first, on all of what the steps before it give
        n = next(i for i, s in enumerate(steps) if not s.rearranges)
        shapes = [
            jax.eval_shape(functools.partial(read_chain, steps[:i]), x, *sum(parts[:i], ())).shape
            for i in range(n)
        ]
        if not all(map(_is_distinct, steps[:n], shapes)):
            raise NotImplementedError(
                "writing through a view that changes the dtype after expand, unfold or as_strided "
                "is not supported: write into the base tensor, or clone() first"
            )
        part = read_chain(steps[:n], x, *sum(parts[:n], ()))
        value = write_chain(steps[n:], part, value, *sum(parts[n:], ()))
    index = jnp.arange(x.size).reshape(x.shape)
    index = read_chain(steps[:n], index, *sum(parts[:n], ()))
    return x.reshape(-1).at[index.reshape(-1)].set(value.reshape(-1)).reshape(x.shape)


def _is_distinct(s: Step, shape: tuple[int, ...]) -> bool:
    """Return whether a step from an array of this shape reaches no element twice."""
    if s.injective:
        return True
    if type(s) is Expand:
        return math.prod(s.params[0]) == math.prod(shape)
    if type(s) is UnfoldStep:
        dim, size, every = s.params
        return every >= size or not shape or shape[dim] < size + every  # no second window
    return type(s) is AsStrided and not may_overlap(Geometry(*s.params[:3]))


@functools.cache
def reader(steps: Steps) -> first_calls.CompiledForm:
    """Return ``read_chain`` compiled: ``reader(steps)(x, *dynamic)``."""
    return _of_steps(lambda steps: functools.partial(read_chain, steps), steps, "view")


@functools.cache
def reader_alone(steps: Steps) -> first_calls.CompiledForm:
    """Return ``reader`` as a program of its own rather than a part of one."""
    is_transposition = [type(s) for s in steps] == [Permute] and steps[0].params[0] == (1, 0)
    if is_transposition and not xla_flags.has_tiles() and targets.runs_on_cpu():
        return first_calls.jit(_transposed, name="transposition")
    return reader(steps)


def _transposed(x: jax.Array) -> jax.Array:
    """Transpose a matrix, where XLA's loops have no tiles (see xla_flags).

    Such a loop strides through memory, at its worst where rows are a multiple of 512 bytes. Copied
    into the other memory order first, which read by rows is the transposed matrix, 512×512 float32
    take 80 instead of 180 µs and 2048×2048 3.0 instead of 13.6 ms (stock XLA 3.5); with rows of
    other sizes, or in more dimensions, the loop is the faster.
    """
    rows, columns = x.shape
    by_copy = x.dtype.itemsize == 2 or columns * x.dtype.itemsize % 512 == 0
    if by_copy and min(rows, columns) >= 128:
        x = with_layout_constraint(x, Layout(major_to_minor=(1, 0)))
    return x.T


@functools.cache
def writer(steps: Steps, donate: bool) -> Callable[..., jax.Array]:
    """Return ``write_chain`` compiled, of a value broadcast and cast to the view: ``(x, value,
    *dynamic)``.

    With ``donate`` the base array is given up and the write happens in its memory. It computes
    alone: `Tensor._write` decides, and puts the result into the cell.
    """

    def writing(steps: Steps) -> Callable[..., jax.Array]:
        def write(x: jax.Array, value: jax.Array, *dynamic: Index) -> jax.Array:
            shape = jax.eval_shape(functools.partial(read_chain, steps), x, *dynamic)
            value = casts.convert(jnp.broadcast_to(jnp.asarray(value), shape.shape), shape.dtype)
            return write_chain(steps, x, value, *dynamic)

        return write

    donated = 0 if donate else ()
    name = "write through a view"
    return _of_steps(writing, steps, name, op=_copying, donate_argnums=donated)


def _copying() -> str:
    return "copy_"


#: Chains that differ in their numbers alone, by what they have in common.
_families: dict[Hashable, dict[Any, Family]] = {}


def _of_steps(
    function: Callable[[Steps], Callable[..., jax.Array]], steps: Steps, name: str, **options: Any
) -> first_calls.CompiledForm:
    """Return ``function(steps)`` compiled, of one family with chains of the same kinds of steps."""
    numbers: list[int] = []
    pattern = tuple([(type(s), _taken_out(s.params, numbers)) for s in steps])

    def make(sizes: tuple[Hashable, ...]) -> Callable[..., jax.Array]:
        rest = iter(sizes)
        # Not interned: sizes may be symbols.
        chain = tuple([kind(*_put_back(params, rest)) for kind, params in pattern])
        return x64.requiring(function(chain))

    families = _families.setdefault((name, pattern, *options.values()), {})
    template = first_calls.FormTemplate(make, tuple(numbers))
    return first_calls.jit(
        x64.requiring(function(steps)),
        name=name,
        template=template,
        families=families,
        of_library=True,
        inline=AT_ONCE,
        **options,
    )


_NUMBER = object()


def _taken_out(params: Hashable, numbers: list[int]) -> Hashable:
    """Return the parameters of a step without their integers, which are appended to ``numbers``."""
    if type(params) is tuple:
        return tuple([_taken_out(p, numbers) for p in params])
    if type(params) is int:
        numbers.append(params)
        return _NUMBER
    return params


def _put_back(params: Hashable, numbers: Iterator[Hashable]) -> Any:
    if type(params) is tuple:
        return tuple([_put_back(p, numbers) for p in params])
    return next(numbers) if params is _NUMBER else params


def _after(
    steps: Steps, geometry: Geometry, s: Step, dynamic: tuple[int, ...]
) -> tuple[Steps, Geometry, bool]:
    """Return the steps and the geometry of a chain with one more step, and whether it is known to
    be row-major.

    Reshapes in a row become one, and permutations too: chains stay short (20,000 views of views
    would copy 20,000-step tuples), and more of them are compiled alike.
    """
    geometry = s.geometry(geometry, *dynamic)
    if steps:
        kind, last = type(s), steps[-1]
        if kind is Alias:
            return steps, geometry, _is_row_major(geometry)
        if type(last) is Alias or (kind is Reshape and type(last) is Reshape):
            steps = steps[:-1]
        elif kind is Permute and type(last) is Permute:
            steps = steps[:-1]
            s = step(Permute, tuple(last.params[0][d] for d in s.params[0]))
    return (*steps, s), geometry, _is_row_major(geometry)


#: The same from a cache: loops make the same views again, and to work one out takes 1 to 3 µs, to
#: find it 0.3. It has no chains of more steps.
_known_after = functools.lru_cache(maxsize=1 << 13)(_after)
_LONG = 16


def _is_row_major(geometry: Geometry) -> bool:
    """Return whether strides are those of an array of its own, those of size 1 as well. Symbols
    are not compared: a trace would note it."""
    size = geometry.size
    return set(map(type, size)) <= {int} and geometry.stride == contiguous_strides(size)


class View:
    """A chain of steps with its dynamic integers, and the geometry it comes to."""

    __slots__ = ("cached", "cached_version", "dynamic", "geometry", "is_row_major", "steps")

    def __init__(
        self,
        steps: Steps,
        dynamic: tuple[int, ...],
        geometry: Geometry,
        is_row_major: bool = False,
    ) -> None:
        self.steps = steps
        self.dynamic = dynamic
        self.geometry = geometry
        #: Whether it is known to have the strides of an array of its own.
        self.is_row_major = is_row_major
        self.cached: jax.Array | np.ndarray | None = None
        self.cached_version = -1

    def __reduce__(self) -> tuple[type[View], tuple[Steps, tuple[int, ...], Geometry]]:
        return View, (self.steps, self.dynamic, self.geometry)

    @property
    def is_conjugated(self) -> bool:
        """Whether its elements are the conjugates of what lies in memory."""
        return self._pending()[0]

    @property
    def is_negated(self) -> bool:
        """Whether its elements are the negatives of what lies in memory: ``x.conj().imag``."""
        return self._pending()[1]

    @property
    def shows_memory(self) -> bool:
        """Whether its elements are what lies in memory."""
        return not any(self._pending())

    def _pending(self) -> tuple[bool, bool]:
        conjugated = negated = False
        for s in self.steps:
            if type(s) is Conj:
                conjugated = not conjugated
            elif type(s) is Imag:
                conjugated, negated = False, negated != conjugated
            elif type(s) is Real:
                conjugated = False
            elif type(s) is Neg:
                negated = not negated
        return conjugated, negated

    def pending_of(self, other: View | None) -> View:
        """Return this chain, conjugated and negated as another one is."""
        found = self
        if other is not None and other.is_conjugated:
            found = found.then(step(Conj), ())
        if other is not None and other.is_negated:
            found = found.then(step(Neg), ())
        return found

    def links(self) -> list[tuple[Step, tuple[int, ...]]]:
        """Return the steps, each with its own dynamic integers."""
        return list(zip(self.steps, split_dynamic(self.steps, self.dynamic), strict=True))

    def then(self, s: Step, dynamic: tuple[int, ...]) -> View:
        """Return the chain with one more step."""
        return _chain(self.steps, self.dynamic, self.geometry, s, dynamic)


def first_view(geometry: Geometry, s: Step, dynamic: tuple[int, ...]) -> View:
    """Return the chain of one step from a whole of this geometry."""
    return _chain((), (), geometry, s, dynamic)


def _chain(
    steps: Steps,
    before: tuple[int, ...],
    geometry: Geometry,
    s: Step,
    dynamic: tuple[int, ...],
) -> View:
    after = _known_after if len(steps) < _LONG else _after
    try:
        steps, geometry, is_row_major = after(steps, geometry, s, dynamic)
    except TypeError:  # a tracer among the integers: nothing to be looked up
        steps, geometry, is_row_major = _after(steps, geometry, s, dynamic)
    return View(steps, before + dynamic, geometry, is_row_major)
