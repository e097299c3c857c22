"""Gather, scatter, and slices whose places are values.

Both speak of *windows*: index vectors name where a window of the operand begins. Here the elements
of all windows are addressed at once, by one index array a dimension of the operand, which NumPy
broadcasts: the batch dimensions of the index vectors first, then those of the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from torchlike._runtime.first_calls.rules.registry import (
    Equation,
    NoNumpyRule,
    Rule,
    is_complex,
    is_float,
    rule,
)


def _mode(eqn: Equation) -> Any:
    mode = eqn.params["mode"]
    return GatherScatterMode.FILL_OR_DROP if mode is None else GatherScatterMode.from_any(mode)


class _Windows:
    """Where the windows of a gather or a scatter lie in the operand.

    Attributes:
      sizes: sizes of the window's dimensions, by dimension of the operand, in their order.
      where: dimension of the operand for each component of the index vectors.
      batching, along: operand dimensions that are batch dimensions, and those of the indices they
        go along.
    """

    def __init__(
        self,
        shape: Any,
        sizes: dict[int, int],
        where: Any,
        batching: Any,
        along: Any,
        n_batch: int,
    ) -> None:
        self.shape = shape
        self.sizes = sizes
        self.where = where
        self.batching, self.along = batching, along
        self.n_batch = n_batch
        self.limits = [n - sizes.get(d, 1) for d, n in enumerate(shape)]
        #: The part of each dimension's places that is the same whatever the index vectors say.
        self._fixed = [self._fixed_places(d) for d in range(len(shape))]

    def starts(self, indices: Any, clip: bool) -> tuple[dict[int, Any], Any]:
        """Return the first places by dimension, within bounds, and (unless clipped) which vectors
        were not."""
        indices = indices.astype(np.int64, copy=False)
        starts, outside = {}, None
        for component, d in enumerate(self.where):
            start, limit = indices[..., component], self.limits[d]
            # As unsigned numbers negative ones are too large as well.
            wrong = start.view(np.uint64) > limit
            if np.count_nonzero(wrong):
                start = np.minimum(np.maximum(start, 0), limit)
                if not clip:
                    outside = wrong if outside is None else outside | wrong
            starts[d] = start
        return starts, outside

    def places(self, starts: dict[int, Any]) -> list[Any]:
        """Return an index array for each dimension of the operand, to be broadcast together."""
        after = (1,) * len(self.sizes)
        found = []
        for d, fixed in enumerate(self._fixed):
            if d in starts:
                place = starts[d].reshape((*starts[d].shape, *after))
                fixed = place if fixed is None else place + fixed
            found.append(fixed)
        return found

    def _fixed_places(self, d: int) -> Any:
        """Return the places along a batch dimension, or within a window; None where these are zeros
        that the start is added to."""
        kept = list(self.sizes)
        span = [1] * (self.n_batch + len(kept))
        if d in self.batching:
            span[self.along[self.batching.index(d)]] = -1
            return np.arange(self.shape[d]).reshape(span)
        if d not in kept:
            return None if d in self.where else np.zeros(span, np.int64)
        if self.sizes[d] == 1 and d in self.where:
            return None
        span[self.n_batch + kept.index(d)] = -1
        return np.arange(self.sizes[d]).reshape(span)


@rule("gather")
def _gather(eqn: Equation) -> Callable[..., Any]:
    numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    (operand, indices), shape, dtype = eqn.operands, eqn.shape, eqn.dtype
    fill = _fill(eqn)
    if 0 in operand.shape or 0 in shape:
        value = np.full(shape, fill, dtype)
        return lambda x, at: value
    rank = len(operand.shape)
    collapsed, batching = numbers.collapsed_slice_dims, numbers.operand_batching_dims
    kept = [d for d in range(rank) if d not in collapsed and d not in batching]
    windows = _Windows(
        operand.shape,
        {d: sizes[d] for d in kept},
        numbers.start_index_map,
        batching,
        numbers.start_indices_batching_dims,
        len(indices.shape) - 1,
    )
    clip = _mode(eqn) != GatherScatterMode.FILL_OR_DROP
    batch = [d for d in range(len(shape)) if d not in numbers.offset_dims]
    order = tuple(int(d) for d in np.argsort([*batch, *numbers.offset_dims]))
    in_order = order == tuple(range(len(shape)))
    unordered = tuple(shape[d] for d in (*batch, *numbers.offset_dims))
    where = windows.where
    # Rows as a whole: NumPy copies each at once.
    are_rows = (
        not batching
        and set(collapsed) == set(where)
        and all(sizes[d] == operand.shape[d] for d in kept)
    )
    leading = (*where, *kept)
    is_leading = leading == tuple(range(rank))

    def gather(x: Any, at: Any) -> np.ndarray:
        starts, outside = windows.starts(at, clip)
        if are_rows:
            rows = x if is_leading else x.transpose(leading)
            found = rows[tuple([starts[d] for d in where])]
        elif rank:
            found = np.broadcast_to(x[tuple(windows.places(starts))], unordered)
        else:
            found = np.broadcast_to(x, unordered)
        if outside is not None:
            found = np.where(outside.reshape((*outside.shape, *(1,) * len(kept))), fill, found)
        return found if in_order else found.transpose(order)

    return gather


def _fill(eqn: Equation) -> np.ndarray:
    """Return the value of a gather for windows outside."""
    fill, dtype = eqn.params["fill_value"], eqn.dtype
    if fill is None:
        if is_float(dtype) or is_complex(dtype):
            fill = np.nan
        elif dtype == np.bool_:
            fill = True
        else:
            limits = np.iinfo(dtype)
            fill = limits.min if dtype.kind == "i" else limits.max
    return np.asarray(fill).astype(dtype)


def _scattering(ufunc: np.ufunc | None) -> Rule:
    """Return the rule that combines updates with what is there by ``ufunc``, or (None) puts them in
    its place."""

    def scattering(eqn: Equation) -> Callable[..., Any]:
        numbers = eqn.params["dimension_numbers"]
        operand, indices, updates = eqn.operands
        if is_complex(operand.dtype) and ufunc not in (None, np.add, np.subtract):
            raise NoNumpyRule("complex numbers")
        rank = len(operand.shape)
        inserted, batching = numbers.inserted_window_dims, numbers.operand_batching_dims
        kept = [d for d in range(rank) if d not in inserted and d not in batching]
        spans = [updates.shape[u] for u in numbers.update_window_dims]
        windows = _Windows(
            operand.shape,
            dict(zip(kept, spans, strict=True)),
            numbers.scatter_dims_to_operand_dims,
            batching,
            numbers.scatter_indices_batching_dims,
            len(indices.shape) - 1,
        )
        clip = _mode(eqn) == GatherScatterMode.CLIP
        batch = [d for d in range(len(updates.shape)) if d not in numbers.update_window_dims]
        order = (*batch, *numbers.update_window_dims)
        is_nothing = 0 in operand.shape or 0 in updates.shape

        def scatter(x: Any, at: Any, update: Any) -> np.ndarray:
            out = np.array(x, order="C")
            if is_nothing:
                return out
            if not rank:
                return _into_number(out, update.reshape(-1), ufunc)
            update = update.transpose(order)
            starts, outside = windows.starts(at, clip)
            places = windows.places(starts)
            if outside is not None:
                inside = ~outside
                update = update[inside]
                places = [
                    np.broadcast_to(p, (*inside.shape, *p.shape[inside.ndim :]))[inside]
                    for p in places
                ]
            if ufunc is None:
                out[tuple(places)] = update
            else:
                flat = _flat_places(places, out.shape)
                flat = np.broadcast_to(flat, update.shape).reshape(-1)
                ufunc.at(out.reshape(-1), flat, update.reshape(-1))
            return out

        return scatter

    return scattering


def _flat_places(places: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Return the places in the flat array, where ``ufunc.at`` is some ten times as fast."""
    flat: Any = 0
    for d, place in enumerate(places):
        flat = flat + place * math.prod(shape[d + 1 :])
    return flat


def _into_number(out: Any, updates: Any, ufunc: np.ufunc | None) -> Any:
    """Update an array without dimensions, and return it."""
    for update in updates:
        out = np.array(update if ufunc is None else ufunc(out, update), out.dtype)
    return out


rule("scatter")(_scattering(None))
for _kind, _ufunc in (
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("min", np.minimum),
    ("max", np.maximum),
):
    rule(f"scatter-{_kind}", f"scatter_{_kind}")(_scattering(_ufunc))


@rule("dynamic_slice")
def _dynamic_slice(eqn: Equation) -> Callable[..., Any]:
    sizes, shape = eqn.params["slice_sizes"], eqn.operands[0].shape
    return lambda x, *starts: x[_bounded(starts, shape, sizes)]


@rule("dynamic_update_slice")
def _dynamic_update_slice(eqn: Equation) -> Callable[..., Any]:
    shape, sizes = eqn.operands[0].shape, eqn.operands[1].shape

    def updated(x: Any, update: Any, *starts: Any) -> np.ndarray:
        out = np.array(x, order="C")
        out[_bounded(starts, shape, sizes)] = update
        return out

    return updated


def _bounded(starts: Any, shape: Any, sizes: Any) -> tuple[slice, ...]:
    """Return the slices of these sizes that begin there, or as near as they fit."""
    found = []
    for start, n, size in zip(starts, shape, sizes, strict=True):
        first = min(max(int(start), 0), n - size)
        found.append(slice(first, first + size))
    return tuple(found)
