"""Attention whose memory grows with the sequence and not with its square, in plain JAX.

Scores are made a block of (rows, columns) at a time, with the running maximum and sum of an online
softmax (Milakov & Gimelshein 2018; Dao et al. 2022); blocks that a causal mask hides are not made.
Backward makes each block again from query, key, value and the logarithm of each row's sum. Both are
one loop over a static list of blocks, which any of XLA's backends compiles and any sharding of
batch and heads splits. The CPU does without: its caches hold a block anyway, and its fusions like
whole rows (weighting.py).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

#: Rows and columns of a block.
BLOCK = 512


class ChunkedAttentionSettings(NamedTuple):
    """What of attention is no array."""

    is_causal: bool
    scale: float
    dropout: float = 0.0
    block: int = BLOCK


class Blocks(NamedTuple):
    """How rows and columns are cut."""

    rows: int
    columns: int
    size: tuple[int, int]
    settings: ChunkedAttentionSettings

    @classmethod
    def of(cls, rows: int, columns: int, settings: ChunkedAttentionSettings) -> Blocks:
        size = min(settings.block, rows), min(settings.block, columns)
        if size == (rows, columns) and rows * columns >= BLOCK * BLOCK:
            # XLA takes apart a loop of one turn, and keeps forward's scores for backward.
            size = -(-rows // 2), -(-columns // 2)
        return cls(rows, columns, size, settings)

    def pairs(self) -> np.ndarray:
        """Return the places where the blocks begin that are not hidden whole: (n, 2)."""
        height, width = self.size
        return np.array(
            [
                (i, j)
                for i in range(0, self.rows, height)
                for j in range(0, self.columns, width)
                if not self.settings.is_causal or j < i + height
            ],
            np.int32,
        )

    def padded(self, x: Any, n: int, size: int, axis: int) -> jax.Array:
        pad = -n % size
        if not pad or x.shape[axis] == 1 != n:
            return x
        widths = [(0, 0)] * x.ndim
        widths[axis] = (0, pad)
        return jnp.pad(x, widths)

    def rows_of(self, x: Any, i: Any) -> jax.Array:
        return lax.dynamic_slice_in_dim(x, i, self.size[0], x.ndim - 2)

    def columns_of(self, x: Any, j: Any) -> jax.Array:
        return lax.dynamic_slice_in_dim(x, j, self.size[1], x.ndim - 2)

    def mask_of(self, mask: Any, i: Any, j: Any) -> jax.Array:
        """Return a block's part of a mask (…, rows or 1, columns or 1)."""
        if mask.shape[-2] != 1:
            mask = lax.dynamic_slice_in_dim(mask, i, self.size[0], mask.ndim - 2)
        if mask.shape[-1] != 1:
            mask = lax.dynamic_slice_in_dim(mask, j, self.size[1], mask.ndim - 1)
        return mask

    def scores(self, query: Any, key: Any, mask: Any, i: Any, j: Any) -> jax.Array:
        """Return the scores of a block in float32 or wider: -inf where masked."""
        wide = jnp.promote_types(query.dtype, jnp.float32)
        scores = jnp.matmul(
            self.rows_of(query, i),
            jnp.swapaxes(self.columns_of(key, j), -1, -2),
            preferred_element_type=wide,
        )
        scores = scores * np.asarray(self.settings.scale, wide)
        low = np.asarray(-np.inf, wide)
        row = i + lax.broadcasted_iota(jnp.int32, self.size, 0)
        column = j + lax.broadcasted_iota(jnp.int32, self.size, 1)
        keep = column < self.columns
        if self.settings.is_causal:
            keep &= column <= row
        if mask is not None:
            part = self.mask_of(mask, i, j)
            if part.dtype == np.bool_:
                keep = keep & part
            else:
                scores = scores + part.astype(wide)
        return jnp.where(keep, scores, low)

    def kept(self, seed: Any, shape: tuple[int, ...], i: Any, j: Any) -> jax.Array:
        """Return which weights of a block dropout keeps, scaled: the same in forward and
        backward."""
        key = jax.random.fold_in(jax.random.key(seed), i * np.int32(46_337) + j)
        p = self.settings.dropout
        return jnp.where(jax.random.bernoulli(key, 1 - p, shape), 1 / max(1 - p, 1e-30), 0.0)


@functools.partial(jax.custom_vjp, nondiff_argnums=(5,))
def attend(
    query: Any, key: Any, value: Any, mask: Any, seed: Any, settings: ChunkedAttentionSettings
) -> jax.Array:
    """Return ``softmax(query @ key.T * scale, masked) @ value``, in the dtype of the value.

    query (…, L, E), key (…, S, E), value (…, S, V), whose leading dimensions broadcast; ``mask``
    (…, L or 1, S or 1): bool (True: kept), a bias, or None; ``seed`` a uint32 for dropout, or None.
    Rows masked whole give 0.
    """
    return _forward(query, key, value, mask, seed, settings)[0]


def _padded(
    blocks: Blocks, query: Any, key: Any, value: Any, mask: Any
) -> tuple[Any, Any, Any, Any]:
    height, width = blocks.size
    query = blocks.padded(query, blocks.rows, height, -2)
    key = blocks.padded(key, blocks.columns, width, -2)
    value = blocks.padded(value, blocks.columns, width, -2)
    if mask is not None:
        mask = blocks.padded(mask, blocks.rows, height, -2)
        mask = blocks.padded(mask, blocks.columns, width, -1)
    return query, key, value, mask


def _at_least_2d(mask: Any) -> jax.Array | None:
    return (
        mask
        if mask is None or mask.ndim >= 2
        else mask.reshape((1,) * (2 - mask.ndim) + mask.shape)
    )


def _forward(
    query: Any, key: Any, value: Any, mask: Any, seed: Any, settings: ChunkedAttentionSettings
) -> tuple[jax.Array, jax.Array]:
    """Return the result, and the logarithm of each row's sum (…, L, 1)."""
    blocks = Blocks.of(query.shape[-2], key.shape[-2], settings)
    wide = jnp.promote_types(query.dtype, jnp.float32)
    given = _at_least_2d(mask)
    q, k, v, m = _padded(blocks, query, key, value, given)
    batch = jnp.broadcast_shapes(
        q.shape[:-2], k.shape[:-2], v.shape[:-2], () if given is None else given.shape[:-2]
    )

    def visit(carry: Any, pair: Any) -> tuple[Any, None]:
        top, total, out = carry
        i, j = pair
        scores = blocks.scores(q, k, m, i, j)
        before, sums, found = (blocks.rows_of(x, i) for x in (top, total, out))
        now = jnp.maximum(before, jnp.max(scores, -1, keepdims=True))
        finite = jnp.where(now == -jnp.inf, np.asarray(0, wide), now)
        powers = jnp.exp(scores - finite)
        shrunk = jnp.exp(before - finite)
        sums = sums * shrunk + jnp.sum(powers, -1, keepdims=True)
        if seed is not None:
            powers = powers * blocks.kept(seed, powers.shape, i, j).astype(wide)
        part = jnp.matmul(
            powers.astype(v.dtype), blocks.columns_of(v, j), preferred_element_type=wide
        )
        found = found * shrunk + part
        return tuple(
            lax.dynamic_update_slice_in_dim(x, new, i, x.ndim - 2)
            for x, new in ((top, now), (total, sums), (out, found))
        ), None

    rows = q.shape[-2]
    start = (
        jnp.full((*batch, rows, 1), -jnp.inf, wide),
        jnp.zeros((*batch, rows, 1), wide),
        jnp.zeros((*batch, rows, v.shape[-1]), wide),
    )
    (top, total, out), _ = lax.scan(visit, start, jnp.asarray(blocks.pairs()))
    empty = total == 0
    filled = jnp.where(empty, np.asarray(1, wide), total)
    logs = jnp.where(empty, np.asarray(np.inf, wide), jnp.log(filled) + top)
    n = blocks.rows
    return (out / filled)[..., :n, :].astype(value.dtype), logs[..., :n, :]


def _with_residuals(
    query: Any, key: Any, value: Any, mask: Any, seed: Any, settings: ChunkedAttentionSettings
) -> tuple[Any, Any]:
    out, logs = _forward(query, key, value, mask, seed, settings)
    return out, (query, key, value, mask, seed, out, logs)


def _backward(
    settings: ChunkedAttentionSettings, residuals: Any, cotangent: Any
) -> tuple[Any, ...]:
    query, key, value, mask, seed, out, logs = residuals
    blocks = Blocks.of(query.shape[-2], key.shape[-2], settings)
    wide = jnp.promote_types(query.dtype, jnp.float32)
    given = _at_least_2d(mask)
    q, k, v, m = _padded(blocks, query, key, value, given)
    height = blocks.size[0]
    # Of rows that are padding: no cotangent, and a sum that makes their weights 0.
    g = blocks.padded(cotangent, blocks.rows, height, -2)
    along = jnp.sum(cotangent.astype(wide) * out.astype(wide), -1, keepdims=True)
    along = blocks.padded(along, blocks.rows, height, -2)
    logs = jnp.where(jnp.isfinite(logs), logs, np.asarray(1e30, wide))
    logs = blocks.padded(logs, blocks.rows, height, -2)
    has_bias = given is not None and given.dtype != np.bool_

    def visit(carry: Any, pair: Any) -> tuple[Any, None]:
        dq, dk, dv, dm = carry
        i, j = pair
        weights = jnp.exp(blocks.scores(q, k, m, i, j) - blocks.rows_of(logs, i))
        rows = blocks.rows_of(g, i)
        upon = jnp.matmul(
            rows, jnp.swapaxes(blocks.columns_of(v, j), -1, -2), preferred_element_type=wide
        )
        used = weights
        if seed is not None:
            kept = blocks.kept(seed, weights.shape, i, j).astype(wide)
            used, upon = weights * kept, upon * kept
        slopes = weights * (upon - blocks.rows_of(along, i))
        scaled = (slopes * np.asarray(settings.scale, wide)).astype(q.dtype)
        parts = (
            (dq, i, jnp.matmul(scaled, blocks.columns_of(k, j), preferred_element_type=wide)),
            (
                dk,
                j,
                jnp.matmul(
                    jnp.swapaxes(scaled, -1, -2), blocks.rows_of(q, i), preferred_element_type=wide
                ),
            ),
            (
                dv,
                j,
                jnp.matmul(
                    jnp.swapaxes(used.astype(g.dtype), -1, -2), rows, preferred_element_type=wide
                ),
            ),
        )
        dq, dk, dv = (added(x, at, part) for x, at, part in parts)
        if dm is not None:
            dm = _added_to_mask(blocks, dm, slopes, i, j)
        return (dq, dk, dv, dm), None

    start = (
        *(jnp.zeros((*x.shape[:-2], *x.shape[-2:]), wide) for x in (q, k, v)),
        jnp.zeros(m.shape, wide) if has_bias else None,
    )
    (dq, dk, dv, dm), _ = lax.scan(visit, start, jnp.asarray(blocks.pairs()))
    found = [
        x[..., : like.shape[-2], :].astype(like.dtype)
        for x, like in ((dq, query), (dk, key), (dv, value))
    ]
    if given is not None and has_bias:
        dm = dm[..., : given.shape[-2], : given.shape[-1]].reshape(mask.shape).astype(mask.dtype)
    elif mask is not None:
        dm = np.zeros(mask.shape, jax.dtypes.float0)
    no_seed = None if seed is None else np.zeros(np.shape(seed), jax.dtypes.float0)
    return (*found, dm, no_seed)


def _summed(x: Any, shape: tuple[int, ...]) -> jax.Array:
    """Return ``x`` summed over the dimensions along which ``shape`` was broadcast."""
    x = jnp.sum(x, tuple(range(x.ndim - len(shape))))
    over = tuple(d for d, n in enumerate(shape) if n == 1 != x.shape[d])
    return jnp.sum(x, over, keepdims=True) if over else x


def added(whole: Any, at: Any, part: Any) -> jax.Array:
    part = _summed(part, (*whole.shape[:-2], *part.shape[-2:]))
    axis = whole.ndim - 2
    old = lax.dynamic_slice_in_dim(whole, at, part.shape[-2], axis)
    return lax.dynamic_update_slice_in_dim(whole, old + part, at, axis)


def _added_to_mask(blocks: Blocks, dm: Any, slopes: Any, i: Any, j: Any) -> jax.Array:
    old = blocks.mask_of(dm, i, j)
    new = old + _summed(slopes, old.shape)
    at = [jnp.int32(0)] * dm.ndim
    at[-2] = i if dm.shape[-2] != 1 else jnp.int32(0)
    at[-1] = j if dm.shape[-1] != 1 else jnp.int32(0)
    return lax.dynamic_update_slice(dm, new, at)


attend.defvjp(_with_residuals, _backward)
