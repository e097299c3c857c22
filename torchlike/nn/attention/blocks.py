"""Attention with changed scores, a block at a time: memory O(rows), not O(rows x columns).

The functions that change and mask scores are traced once, for one block, as the body of a loop is
(`TracedSubgraph`); what they read from outside gets its gradient from the sum over all blocks.
The rest is the online softmax of `torchlike._ops.nn.attention.chunked`, whose backward makes each
block again. Blocks that a BlockMask hides whole are skipped when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import modes
from torchlike._core.tape import gradient_edge
from torchlike._jit.trace.subgraph import SubgraphLeaf, SubgraphNode, TracedSubgraph, joined
from torchlike._ops.nn.attention.chunked import BLOCK, Blocks, ChunkedAttentionSettings, added
from torchlike._runtime import targets
from torchlike.nn.attention.block_mask import BlockMask
from torchlike.nn.attention.changed_scores import changed_scores, dense_blocks
from torchlike.tensor import Tensor, wrap

#: Scores of one head from which on they are not made whole: on accelerators, and on the CPU, where
#: a program of its own for each mask costs more than whole rows of shorter sequences do.
_LONG = 512 * 512
_LONG_ON_CPU = 2048 * 2048


def is_long(query: Tensor, key: Tensor) -> bool:
    """Return whether attention is to be computed in blocks."""
    if query.device.type == "meta" and not modes.is_capturing():
        return False  # nothing is made
    enough = _LONG_ON_CPU if targets.is_cpu() else _LONG
    return query.shape[2] * key.shape[2] >= enough


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Any] | None,
    block_mask: BlockMask | None,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute, within a capture, the result (B, Hq, L, Ev), the logarithms of the sums and the
    greatest scores (B, Hq, L). Query (B, Hq, L, E), key and value (B, Hkv, S, …).

    NotImplementedError for a second derivative.
    """
    loop = _Loop(query, key, value, score_mod, block_mask, scale)
    with jax.named_scope("flex_attention"):
        out, lse, top = targets.precise(loop.forward)()
    tensors = (query, key, value)
    wanted = [i for i, t in enumerate(tensors) if t.requires_grad and modes.current.grad_enabled]
    needs = bool(wanted or loop.changed.edges)
    leaves = [_leaf(x, needs and i < 2) for i, x in enumerate((out, lse, top))]
    edges = [gradient_edge(tensors[i]) for i in wanted] + loop.changed.edges

    def backward(cotangents: Sequence[Any]) -> list[Any]:
        of_tensors, of_edges = targets.precise(loop.backward)(out, lse, *cotangents)
        return [*(of_tensors[i] for i in wanted), *of_edges]

    found = joined("FlexAttentionBackward0", leaves, (out, lse, top), edges, backward, SubgraphNode)
    return found[0], found[1], found[2]


def _leaf(array: Any, requires_grad: bool) -> SubgraphLeaf:
    leaf = SubgraphLeaf(wrap(array))
    leaf.requires_grad = requires_grad
    return leaf


class _Changed:
    """score_mod and the mask, traced for one block of scores."""

    def __init__(
        self, score_mod: Any, block_mask: BlockMask | None, aval: Any, requires_grad: bool
    ) -> None:
        batch, heads, rows, columns = aval.shape
        places = [jax.ShapeDtypeStruct((n,), np.dtype(np.int64)) for n in aval.shape]
        self.over = batch, heads, rows, columns
        dense = None if block_mask is None else dense_blocks(block_mask)

        def change(scores: Tensor, *indices: Tensor) -> tuple[list[Any], None]:
            return [changed_scores(score_mod, block_mask, scores, indices, dense)], None

        with modes.outside():
            leaves = [_leaf(jnp.zeros(a.shape, a.dtype), False) for a in (aval, *places)]
        leaves[0].requires_grad = requires_grad
        self._subgraph = TracedSubgraph(change, leaves, [aval, *places], "score_mod or mask_mod")
        if self._subgraph.n_flags:
            modes.the_capture().refuse(
                "a score_mod whose gradient is there or not as values decide", "torchlike.where"
            )
        self.edges = self._subgraph.edges
        self.present = None if dense is None or block_mask is None else _present(dense)

    def _inputs(self, scores: Any, row: Any, column: Any) -> list[Any]:
        batch, heads = self.over[:2]
        return [scores, jnp.arange(batch), jnp.arange(heads), row, column]

    def __call__(self, scores: Any, row: Any, column: Any) -> Any:
        """Return the changed scores of a block, and a function from their cotangent to that of the
        scores and those of the edges."""
        inputs, subgraph = self._inputs(scores, row, column), self._subgraph
        (found,), residuals = subgraph.run_forward(subgraph.closed, inputs)

        def pull(cotangent: Any) -> tuple[Any, list[Any]]:
            arrived = dict.fromkeys(subgraph.roots, cotangent.astype(found.dtype))
            of_inputs, of_edges, _ = subgraph.run_backward(
                residuals, subgraph.closed, inputs, arrived
            )
            return of_inputs[0] if of_inputs else jnp.zeros_like(scores), of_edges

        return found, pull

    def zeros(self) -> list[Any]:
        """Return arrays of zeros into which the gradients of the edges are summed."""
        avals = self._subgraph.gradient_avals[len(self._subgraph.reached) :]
        return [jnp.zeros(a.shape, a.dtype) for a in avals]


def _present(dense: Sequence[Tensor]) -> Any:
    """Return which of the mask's blocks any batch and head attends to: (rows, columns) of
    blocks."""
    arrays = [d._read() != 0 for d in dense]
    found = arrays[0] if len(arrays) == 1 else arrays[0] | arrays[1]
    return found.any(tuple(range(found.ndim - 2)))


class _Carry(NamedTuple):
    """Of each row so far: the greatest score, the sum of powers, and powers @ value."""

    top: Any
    total: Any
    out: Any


class _Loop:
    """The loop over blocks, forward and backward. Query, key and value have a dimension for the
    heads that share a key: (B, Hkv, Hq / Hkv, L, E) and (B, Hkv, 1, S, …)."""

    def __init__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        score_mod: Any,
        block_mask: BlockMask | None,
        scale: float,
    ) -> None:
        arrays = [t._read() for t in (query, key, value)]
        self._like = arrays
        batch, heads, rows, width = arrays[0].shape
        shared, columns = arrays[1].shape[1:3]
        self.wide = jnp.promote_types(arrays[0].dtype, jnp.float32)
        self.blocks = blocks = Blocks.of(
            rows, columns, ChunkedAttentionSettings(False, scale, block=BLOCK)
        )
        grouped = arrays[0].reshape(batch, shared, heads // shared, rows, width)
        height, across = blocks.size
        self._query = blocks.padded(grouped, rows, height, -2)
        self._key, self._value = (
            blocks.padded(x[:, :, None].astype(grouped.dtype), columns, across, -2)
            for x in arrays[1:]
        )
        self._scores_shape = (batch, heads, *blocks.size)
        aval = jax.ShapeDtypeStruct(self._scores_shape, self.wide)
        grad = modes.current.grad_enabled and (query.requires_grad or key.requires_grad)
        self.changed = _Changed(score_mod, block_mask, aval, grad)
        self._pairs = jnp.asarray(blocks.pairs())
        self._there = self._blocks_there(block_mask)

    def _blocks_there(self, block_mask: BlockMask | None) -> Any:
        """Return whether a mask leaves anything of each block of the loop, or None where there is
        no mask."""
        if block_mask is None or self.changed.present is None:
            return None
        rows, columns = (
            _overlap(n, size, of, count)
            for n, size, of, count in zip(
                (self.blocks.rows, self.blocks.columns),
                self.blocks.size,
                block_mask.BLOCK_SIZE,
                self.changed.present.shape,
                strict=True,
            )
        )
        there = rows @ self.changed.present.astype(np.int32) @ columns.T
        return (there > 0).reshape(-1)  # in the order of `pairs`

    def _scanned(self, visit: Callable[..., Any], start: Any) -> Any:
        """Run ``visit(carry, i, j)`` for each block that is there and return the last carry."""

        def step(carry: Any, x: Any) -> tuple[Any, None]:
            (i, j), there = x
            if there is None:
                return visit(carry, i, j), None
            return lax.cond(there, lambda c: visit(c, i, j), lambda c: c, carry), None

        return lax.scan(step, start, (self._pairs, self._there))[0]

    def _scores(self, i: Any, j: Any) -> tuple[Any, Callable[..., Any]]:
        """Return the changed scores of a block, in groups, and the function of `_Changed` that
        pulls cotangents back."""
        blocks = self.blocks
        scores = jnp.matmul(
            blocks.rows_of(self._query, i),
            jnp.swapaxes(blocks.columns_of(self._key, j), -1, -2),
            preferred_element_type=self.wide,
        )
        shape = scores.shape
        scores = (scores * np.asarray(blocks.settings.scale, self.wide)).reshape(self._scores_shape)
        # Padding takes the place of the last: its index would be out of what the functions know.
        row = jnp.minimum(i + jnp.arange(blocks.size[0]), blocks.rows - 1)
        column = j + jnp.arange(blocks.size[1])
        found, pull = self.changed(scores, row, jnp.minimum(column, blocks.columns - 1))
        found = jnp.where(column < blocks.columns, found.astype(self.wide), -np.inf)

        def back(cotangent: Any) -> tuple[Any, list[Any]]:
            of_scores, of_edges = pull(cotangent.reshape(self._scores_shape))
            scaled = of_scores.astype(self.wide) * np.asarray(blocks.settings.scale, self.wide)
            return scaled.reshape(shape), of_edges

        return found.reshape(shape), back

    def forward(self) -> tuple[Any, Any, Any]:
        blocks, wide = self.blocks, self.wide

        def visit(carry: _Carry, i: Any, j: Any) -> _Carry:
            scores, _ = self._scores(i, j)
            top, total, out = (blocks.rows_of(x, i) for x in carry)
            now = jnp.maximum(top, jnp.max(scores, -1, keepdims=True))
            finite = jnp.where(now == -jnp.inf, np.asarray(0, wide), now)
            powers, shrunk = jnp.exp(scores - finite), jnp.exp(top - finite)
            part = jnp.matmul(
                powers.astype(self._value.dtype),
                blocks.columns_of(self._value, j),
                preferred_element_type=wide,
            )
            new = (now, total * shrunk + jnp.sum(powers, -1, keepdims=True), out * shrunk + part)
            return _Carry(
                *(
                    lax.dynamic_update_slice_in_dim(x, y, i, x.ndim - 2)
                    for x, y in zip(carry, new, strict=True)
                )
            )

        leading = self._query.shape[:-1]
        carry = self._scanned(
            visit,
            _Carry(
                jnp.full((*leading, 1), -jnp.inf, wide),
                jnp.zeros((*leading, 1), wide),
                jnp.zeros((*leading, self._value.shape[-1]), wide),
            ),
        )
        filled = jnp.where(carry.total == 0, np.asarray(1, wide), carry.total)
        lse = jnp.where(carry.total == 0, -jnp.inf, jnp.log(filled) + carry.top)
        out = (carry.out / filled).astype(self._like[0].dtype)
        return (
            self._ungrouped(out),
            self._ungrouped(lse)[..., 0],
            self._ungrouped(carry.top)[..., 0],
        )

    def _ungrouped(self, x: Any) -> Any:
        batch, heads = self._scores_shape[:2]
        return x[..., : self.blocks.rows, :].reshape(batch, heads, self.blocks.rows, x.shape[-1])

    def _grouped(self, x: Any) -> Any:
        """Return (B, Hq, L, n) grouped as the query is, padded."""
        x = x.reshape(*self._query.shape[:3], *x.shape[-2:])
        return self.blocks.padded(x, self.blocks.rows, self.blocks.size[0], -2)

    def backward(self, out: Any, lse: Any, of_out: Any, of_lse: Any) -> tuple[Any, Any]:
        """Return the gradients of query, key and value, and those of the edges."""
        blocks, wide = self.blocks, self.wide
        given = jnp.zeros_like(out) if of_out is None else of_out
        along = -jnp.sum(given.astype(wide) * out.astype(wide), -1, keepdims=True)
        if of_lse is not None:
            along = along + of_lse[..., None].astype(wide)
        logs = jnp.where(jnp.isfinite(lse), lse, np.asarray(1e30, wide))[..., None]
        g, along, logs = (self._grouped(x) for x in (given, along, logs))
        query, key, value = self._query, self._key, self._value

        def visit(carry: Any, i: Any, j: Any) -> Any:
            (dq, dk, dv), sums = carry
            scores, back = self._scores(i, j)
            weights = jnp.exp(scores - blocks.rows_of(logs, i))
            rows = blocks.rows_of(g, i)
            upon = jnp.matmul(
                rows, jnp.swapaxes(blocks.columns_of(value, j), -1, -2), preferred_element_type=wide
            )
            slopes, of_edges = back(weights * (upon + blocks.rows_of(along, i)))
            slopes, low = slopes.astype(query.dtype), weights.astype(g.dtype)
            parts = (
                (dq, i, slopes, blocks.columns_of(key, j)),
                (dk, j, jnp.swapaxes(slopes, -1, -2), blocks.rows_of(query, i)),
                (dv, j, jnp.swapaxes(low, -1, -2), rows),
            )
            new = tuple(
                added(x, at, jnp.matmul(a, b, preferred_element_type=wide)) for x, at, a, b in parts
            )
            return new, [s + e for s, e in zip(sums, of_edges, strict=True)]

        start = tuple(jnp.zeros(x.shape, wide) for x in (query, key, value))
        found, sums = self._scanned(visit, (start, self.changed.zeros()))
        return [
            x[..., : like.shape[-2], :].reshape(like.shape).astype(like.dtype)
            for x, like in zip(found, self._like, strict=True)
        ], sums


def _overlap(length: int, size: int, of: int, count: int) -> np.ndarray:
    """Return which of ``count`` blocks of ``of`` a block of ``size`` touches: (blocks, count),
    int32."""
    start = np.arange(0, length, size)
    first, last = start // of, (np.minimum(start + size, length) - 1) // of
    at = np.arange(count)
    return ((at >= first[:, None]) & (at <= last[:, None])).astype(np.int32)
