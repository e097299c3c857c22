"""Attention of sequences of different lengths that lie one after another in memory, in plain JAX.

The rows of each sequence are visited in blocks, and for each block of queries the blocks of keys of
its own sequence, by an online softmax. So the work is that of the sequences, up to a block's size,
and the memory is that of the rows: nothing is padded to the longest. How many blocks there are may
be known at run time alone, so one compiled program serves all lengths with the same total.

Keys that all rows of a block may look at are taken `WIDE` at a time and without a mask; the mask is
for what remains at the ends. Backward passes are loops too, which JAX cannot differentiate in
reverse. Second derivatives are symmetric, so the gradient of a backward pass along a direction is
the forward-mode derivative of that pass, and forward mode goes through loops (`_second`).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

#: Rows of a block of queries, and of a block of keys. Measured on a CPU with lengths from 10 to
#: 1,000: larger ones waste more in the last block of a sequence than they gain in the others.
ROWS, COLUMNS = 64, 64
#: Keys of a block without a mask: a multiple of `COLUMNS`.
WIDE = 256


class RaggedAttentionSettings(NamedTuple):
    """What is known when the program is compiled."""

    scale: float
    #: How far a query sees to its left and right; None for all.
    left: int | None
    right: int | None
    #: Whether a query's own place is counted from the end of the keys, or from their beginning.
    from_end: bool
    dropout: float


class Sequences(NamedTuple):
    """Where sequences lie: the first row (n,) and the number of rows (n,) of each."""

    starts: Any
    lengths: Any


def _blocks_of(sequences: Sequences) -> tuple[jax.Array, jax.Array]:
    """Return how many blocks each sequence has, and where the blocks of the next one begin."""
    counts = (sequences.lengths + (ROWS - 1)) // ROWS
    return counts, jnp.cumsum(counts)


def _rows(x: Any, start: Any, size: int) -> jax.Array:
    """Return a block of (heads, group, rows, features) from a row on, the rows of its groups one
    after another."""
    part = lax.dynamic_slice_in_dim(x, start, size, 2)
    return part.reshape(x.shape[0], x.shape[1] * size, x.shape[3])


def _added(x: Any, part: Any, start: Any, size: int) -> jax.Array:
    """Return ``x`` with a block added to what it holds from a row on."""
    shape = (x.shape[0], x.shape[1], size, x.shape[3])
    sums = lax.dynamic_slice_in_dim(x, start, size, 2) + part.reshape(shape).astype(x.dtype)
    return lax.dynamic_update_slice_in_dim(x, sums, start, 2)


class _Visit(NamedTuple):
    """One block of queries: its first row, its place in its sequence, and what it may look at."""

    row: Any
    first: Any
    n_rows: Any
    key_row: Any
    n_keys: Any
    shift: Any
    #: The blocks of keys from `low` to `high`.
    low: Any
    high: Any

    def wide(self, settings: RaggedAttentionSettings) -> tuple[Any, Any]:
        """Return the block of keys from which on all rows may look at all of a wide block, and how
        many such blocks there are."""
        start, end = self.low, self.n_keys
        if settings.left is not None:
            last = jnp.minimum(self.first + ROWS, self.n_rows) - 1 + self.shift
            start = jnp.maximum(last - settings.left + (COLUMNS - 1), 0) // COLUMNS
            start = jnp.maximum(self.low, jnp.minimum(start, self.high))
        if settings.right is not None:
            end = jnp.minimum(end, self.first + self.shift + settings.right + 1)
        return start, jnp.maximum(end - start * COLUMNS, 0) // WIDE


def _visit(
    n: Any,
    counts: Any,
    ends: Any,
    queries: Sequences,
    keys: Sequences,
    settings: RaggedAttentionSettings,
) -> _Visit:
    at = jnp.searchsorted(ends, n, side="right").astype(np.int32)
    first = (n - (ends[at] - counts[at])) * ROWS
    n_rows, n_keys = queries.lengths[at], keys.lengths[at]
    shift = n_keys - n_rows if settings.from_end else jnp.zeros_like(n_rows)
    low, high = jnp.zeros_like(n_rows), (n_keys + (COLUMNS - 1)) // COLUMNS
    if settings.right is not None:
        last = jnp.minimum(first + ROWS, n_rows) - 1 + shift + settings.right
        high = jnp.clip(last // COLUMNS + 1, 0, high)
    if settings.left is not None:
        low = jnp.maximum(first + shift - settings.left, 0) // COLUMNS
    return _Visit(
        queries.starts[at] + first, first, n_rows, keys.starts[at], n_keys, shift, low, high
    )


def _rows_kept(visit: _Visit, group: int) -> jax.Array:
    """Return which rows of a block belong to its sequence (group * ROWS, 1)."""
    row = visit.first + lax.broadcasted_iota(np.int32, (group, ROWS, 1), 1)
    return (row < visit.n_rows).reshape(group * ROWS, 1)


def _kept(visit: _Visit, j: Any, group: int, settings: RaggedAttentionSettings) -> jax.Array:
    """Return which scores of a block count (group * ROWS, COLUMNS), in the rows of the sequence."""
    shape = (group, ROWS, COLUMNS)
    column = j * COLUMNS + lax.broadcasted_iota(np.int32, shape, 2)
    keep = column < visit.n_keys
    place = visit.first + lax.broadcasted_iota(np.int32, shape, 1) + visit.shift
    if settings.right is not None:
        keep &= column <= place + settings.right
    if settings.left is not None:
        keep &= column >= place - settings.left
    return keep.reshape(group * ROWS, COLUMNS)


def _dot(x: Any, y: Any, contracted: tuple[int, int], wide: Any) -> jax.Array:
    return lax.dot_general(
        x, y, (((contracted[0],), (contracted[1],)), ((0,), (0,))), preferred_element_type=wide
    )


def _drops(seed: Any, n: Any, j: Any, shape: tuple[int, ...], p: float) -> jax.Array:
    """Return which weights of a block dropout keeps, scaled: the same in forward and backward."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), n), j)
    return jnp.where(jax.random.bernoulli(key, 1 - p, shape), 1 / max(1 - p, 1e-30), 0.0)


@functools.partial(jax.custom_vjp, nondiff_argnums=(6,))
def attend(
    query: Any,
    key: Any,
    value: Any,
    queries: Sequences,
    keys: Sequences,
    seed: Any,
    settings: RaggedAttentionSettings,
) -> tuple[jax.Array, jax.Array]:
    """Compute ``softmax(query @ key.T * scale, masked) @ value`` for each sequence, and the
    logarithms of the sums.

    query (heads, group, rows, E), whose groups share the key (heads, 1, keys, E) and the value
    (heads, 1, keys, V). ``seed``: a uint32 for dropout, or None. Gives (heads, group, rows, V) in
    the query's dtype and (heads, group, rows, 1) in float32 or wider. Rows of no sequence, and rows
    that may look at nothing, give 0 (and -inf).
    """
    return _forward(query, key, value, queries, keys, seed, settings)


def _padded(x: Any) -> jax.Array:
    """Append a block of zeros behind the last row, so that no block is cut off."""
    return jnp.pad(x, ((0, 0), (0, 0), (0, max(ROWS, COLUMNS)), (0, 0)))


def _wide(x: Any) -> Any:
    return jnp.promote_types(x.dtype, np.float32)


def _forward(
    query: Any,
    key: Any,
    value: Any,
    queries: Sequences,
    keys: Sequences,
    seed: Any,
    settings: RaggedAttentionSettings,
) -> tuple[jax.Array, jax.Array]:
    wide, group = _wide(query), query.shape[1]
    q, k, v = _padded(query), _padded(key), _padded(value)
    counts, ends = _blocks_of(queries)
    heads, rows = q.shape[0], group * ROWS
    low = np.asarray(-np.inf, wide)

    def visit(n: Any, found: Any) -> tuple[jax.Array, jax.Array]:
        here = _visit(n, counts, ends, queries, keys, settings)
        block = _rows(q, here.row, ROWS).astype(wide) * np.asarray(settings.scale, wide)
        block = block.astype(q.dtype)

        def look(at: Any, size: int, keep: Any, drops: Any, carry: Any) -> tuple[jax.Array, ...]:
            top, total, out = carry
            at = here.key_row + at
            scores = _dot(block, _rows(k, at, size), (2, 2), wide)
            if keep is not None:
                scores = jnp.where(keep, scores, low)
            now = lax.stop_gradient(jnp.maximum(top, jnp.max(scores, -1, keepdims=True)))
            finite = jnp.where(now == low, 0, now)
            powers = jnp.exp(scores - finite)
            shrunk = jnp.exp(top - finite)
            total = total * shrunk + jnp.sum(powers, -1, keepdims=True)
            if drops is not None:
                powers = powers * drops.astype(wide)
            part = _dot(powers.astype(v.dtype), _rows(v, at, size), (2, 1), wide)
            return now, total, out * shrunk + part

        def look_wide(i: Any, carry: Any) -> tuple[jax.Array, ...]:
            return look(first * COLUMNS + i * WIDE, WIDE, None, None, carry)

        def look_at_end(i: Any, carry: Any) -> tuple[jax.Array, ...]:
            j = here.low + i
            j = jnp.where(j < first, j, j + passed)
            keep = _kept(here, j, group, settings)
            drops = None
            if seed is not None:
                drops = _drops(seed, n, j, (heads, rows, COLUMNS), settings.dropout)
            return look(j * COLUMNS, COLUMNS, keep, drops, carry)

        carry = (
            jnp.full((heads, rows, 1), low),
            jnp.zeros((heads, rows, 1), wide),
            jnp.zeros((heads, rows, v.shape[-1]), wide),
        )
        first, passed = here.high, np.int32(0)
        # Dropout's blocks are those of the backward pass.
        if seed is None and key.shape[2] >= WIDE:
            first, many = here.wide(settings)
            passed = many * (WIDE // COLUMNS)
            carry = lax.fori_loop(0, many, look_wide, carry)
        top, total, out = lax.fori_loop(0, here.high - here.low - passed, look_at_end, carry)
        seen = (total > 0) & _rows_kept(here, group)
        filled = jnp.where(seen, total, 1)
        logs = jnp.where(seen, jnp.log(filled) + jnp.where(seen, top, 0), 0)
        out = jnp.where(seen, out / filled, 0)
        return _added(found[0], out, here.row, ROWS), _added(found[1], logs, here.row, ROWS)

    results = (
        jnp.zeros((heads, group, q.shape[2], v.shape[-1]), wide),
        jnp.zeros((heads, group, q.shape[2], 1), wide),
    )
    out, logs = lax.fori_loop(0, ends[-1], visit, results)
    length = query.shape[2]
    return out[:, :, :length].astype(query.dtype), logs[:, :, :length]


def _attend_forward(
    query: Any,
    key: Any,
    value: Any,
    queries: Sequences,
    keys: Sequences,
    seed: Any,
    settings: RaggedAttentionSettings,
) -> tuple[Any, Any]:
    found: Any = attend(query, key, value, queries, keys, seed, settings)
    out, logs = found
    return (out, logs), (query, key, value, queries, keys, seed, out, logs)


def _attend_backward(
    settings: RaggedAttentionSettings, kept: Any, cotangents: Any
) -> tuple[Any, ...]:
    query, key, value, queries, keys, seed, out, logs = kept
    found: Any = _gradients(
        query, key, value, *cotangents, out, logs, queries, keys, seed, settings
    )
    return (*found, None, None, None)


@functools.partial(jax.custom_vjp, nondiff_argnums=(10,))
def _gradients(
    query: Any,
    key: Any,
    value: Any,
    along: Any,
    along_logs: Any,
    out: Any,
    logs: Any,
    queries: Sequences,
    keys: Sequences,
    seed: Any,
    settings: RaggedAttentionSettings,
) -> tuple[Any, Any, Any]:
    """Return the gradients of query, key and value from the cotangents of the results, which are
    ``out`` and ``logs``."""
    return _backward(query, key, value, along, along_logs, out, logs, queries, keys, seed, settings)


def _gradients_forward(*arguments: Any) -> tuple[Any, Any]:
    return _gradients(*arguments), arguments[:-1]


def _gradients_backward(
    settings: RaggedAttentionSettings, kept: Any, directions: Any
) -> tuple[Any, ...]:
    query, key, value, along, along_logs, _, _, queries, keys, seed = kept
    found: Any = _second(
        query, key, value, along, along_logs, *directions, queries, keys, seed, settings
    )
    # What the results add is in `_second`, which follows them back to query, key and value.
    return (*found, None, None, None, None, None)


_gradients.defvjp(_gradients_forward, _gradients_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(11,))
def _second(
    query: Any,
    key: Any,
    value: Any,
    along: Any,
    along_logs: Any,
    by_query: Any,
    by_key: Any,
    by_value: Any,
    queries: Sequences,
    keys: Sequences,
    seed: Any,
    settings: RaggedAttentionSettings,
) -> tuple[Any, ...]:
    """Return the gradients of query, key, value, ``along`` and ``along_logs`` from the cotangents
    of what `_gradients` returns."""

    def both(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
        results = _forward(query, key, value, queries, keys, seed, settings)
        gradients = _backward(
            query, key, value, along, along_logs, *results, queries, keys, seed, settings
        )
        return gradients, results

    _, (of_gradients, of_results) = jax.jvp(both, (query, key, value), (by_query, by_key, by_value))
    return (*of_gradients, *of_results)


def _no_third(*_: Any) -> Any:
    raise NotImplementedError(
        "third derivatives of ragged attention are not there. Use instead: attention of the parts "
        "(unbind()), or of to_padded_tensor() with a mask"
    )


_second.defvjp(_no_third, _no_third)


def _backward(
    query: Any,
    key: Any,
    value: Any,
    along: Any,
    along_logs: Any,
    out: Any,
    logs: Any,
    queries: Sequences,
    keys: Sequences,
    seed: Any,
    settings: RaggedAttentionSettings,
) -> tuple[Any, Any, Any]:
    wide, group = _wide(query), query.shape[1]
    # What each row of scores gets in common.
    common = along_logs.astype(wide) - jnp.sum(
        along.astype(wide) * out.astype(wide), -1, keepdims=True
    )
    q, k, v = _padded(query), _padded(key), _padded(value)
    d, c, sums = _padded(along), _padded(common), _padded(logs)
    counts, ends = _blocks_of(queries)
    factor = np.asarray(settings.scale, wide)

    def visit(n: Any, found: Any) -> tuple[jax.Array, ...]:
        here = _visit(n, counts, ends, queries, keys, settings)
        block, grad, shared = (_rows(x, here.row, ROWS) for x in (q, d, c))
        log = _rows(sums, here.row, ROWS)
        scaled = (block.astype(wide) * factor).astype(q.dtype)
        kept = _rows_kept(here, group)

        def look(j: Any, carry: Any) -> tuple[jax.Array, ...]:
            by_query, by_key, by_value = carry
            at = here.key_row + j * COLUMNS
            column = _rows(k, at, COLUMNS)
            scores = _dot(scaled, column, (2, 2), wide) - log
            weights = jnp.where(kept & _kept(here, j, group, settings), jnp.exp(scores), 0)
            by_weight = _dot(grad, _rows(v, at, COLUMNS), (2, 2), wide)
            used = weights
            if seed is not None:
                drops = _drops(seed, n, j, weights.shape, settings.dropout).astype(wide)
                used, by_weight = weights * drops, by_weight * drops
            by_score = (weights * (by_weight + shared)).astype(q.dtype)
            by_query = by_query + _dot(by_score, column, (2, 1), wide)
            by_key = _added(by_key, _dot(by_score, scaled, (1, 1), wide), at, COLUMNS)
            by_value = _added(by_value, _dot(used.astype(d.dtype), grad, (1, 1), wide), at, COLUMNS)
            return by_query, by_key, by_value

        by_query, by_key, by_value = lax.fori_loop(
            here.low, here.high, look, (jnp.zeros(block.shape, wide), *found[1:])
        )
        return _added(found[0], by_query * factor, here.row, ROWS), by_key, by_value

    start = tuple(jnp.zeros(x.shape, wide) for x in (q, k, v))
    found = lax.fori_loop(0, ends[-1], visit, start)
    by_query, by_key, by_value = (
        g[:, :, : x.shape[2]].astype(x.dtype)
        for g, x in zip(found, (query, key, value), strict=True)
    )
    return by_query, by_key, by_value


attend.defvjp(_attend_forward, _attend_backward)
