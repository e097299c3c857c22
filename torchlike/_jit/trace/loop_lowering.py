"""Loops in a captured graph: the subgraph of a loop's body becomes lax.while_loop or lax.scan.

Forward runs the body's forward half, and backward is a loop over its backward half (see
``subgraph``).

- A scan keeps residuals of each step.
- A while loop's number of turns is known only afterwards. Backward therefore runs it once more and
  keeps the state at 64 places, then steps back from the last turn, redoing the few turns since the
  nearest place: N + N²/128 turns of the body for N of them, and 64 states of memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from torchlike._core import dtypes
from torchlike._core.tape import gradient_edge
from torchlike._jit.capture.scalars import weak
from torchlike._jit.trace.cond import merged, zeros_of
from torchlike._jit.trace.subgraph import (
    SubgraphCapture,
    SubgraphLeaf,
    TracedSubgraph,
    array_of,
    filled,
    joined,
)
from torchlike.autograd.conditional_grad import either
from torchlike.tensor import Tensor

#: How many states the backward of a while loop keeps.
_PLACES = 64


def _stable(
    make: Callable[[list[SubgraphLeaf]], TracedSubgraph],
    leaves: list[SubgraphLeaf],
    mismatch: Callable[..., None],
) -> TracedSubgraph:
    """Trace the body of a loop until ``requires_grad`` of its state is as it is after any number of
    turns, and return it.

    ``mismatch(i, before, after)`` must raise where the state's kind changes in a turn.
    """
    while True:
        subgraph = make(leaves)
        changed = False
        for i, (before, after) in enumerate(zip(leaves, subgraph.outputs, strict=False)):
            if not before.alike(after):
                mismatch(i, before, after)
            if after.requires_grad and not before.requires_grad:
                before.requires_grad = changed = True
        if not changed:
            return subgraph


def _edge(x: Any) -> Any:
    """Return the edge along which the gradient of a part of the state flows; None for what needs
    none."""
    return gradient_edge(x) if isinstance(x, Tensor) and x.requires_grad else None


# -- while loops -----------------------------------------------------------------------------------


def loop(
    test_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    state: Sequence[Any],
    mismatch: Callable[..., None],
) -> list[Any]:
    """Run ``while test_fn(*state): state = body_fn(*state)`` on tensors and numbers.

    ``body_fn`` gives (new state, aux), ``test_fn`` ([truth], aux).
    """
    init = [array_of(x) for x in state]
    avals = [jax.typeof(a) for a in init]
    leaves = [SubgraphLeaf(x) for x in state]
    body = _stable(
        lambda given: TracedSubgraph(body_fn, given, avals, "a loop on a tensor's value"),
        leaves,
        mismatch,
    )
    untracked = [SubgraphLeaf(x) for x in state]
    for leaf in untracked:
        leaf.requires_grad = False
    test = TracedSubgraph(test_fn, untracked, avals, "the test of a loop")
    found = _While(test, body, init, [i for i, leaf in enumerate(leaves) if leaf.requires_grad])
    with_grad = bool(found.rooted)
    outgoing = [_edge(state[i]) for i in found.rooted] + list(body.edges)
    return joined(
        "WhileLoopBackward", leaves, found.final, outgoing if with_grad else [], found.backward
    )


class _While:
    """One ``lax.while_loop``, which runs when it is made, and its backward."""

    def __init__(
        self, test: TracedSubgraph, body: TracedSubgraph, init: list[Any], rooted: list[int]
    ) -> None:
        self._test = test
        self._body = body
        self._init = init
        #: The parts of the state that require grad.
        self.rooted = rooted
        #: How many turns there were, and the state after the last.
        self._count, self.final = lax.while_loop(
            self._goes_on,
            lambda carry: (carry[0] + 1, self._turn(carry[1])),
            (jnp.zeros((), jnp.int64), init),
        )

    def _goes_on(self, carry: Any) -> Any:
        truth = self._test.run_forward(self._test.closed, carry[1])[0][0]
        return (truth if truth.dtype == bool else truth != 0).reshape(())

    def _turn(self, values: Any) -> Any:
        return self._body.run_forward(self._body.closed, values)[0]

    def backward(self, cotangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Compute the gradients of the state before the first turn, and of what the body read
        outside."""
        body, count = self._body, self._count
        given = filled(cotangents, [self.final[i] for i in self.rooted])
        stride = jnp.maximum((count + _PLACES - 1) // _PLACES, 1)
        places = self._states(stride)

        def back(carry: Any) -> Any:
            t, cotangents, sums, seen = carry
            new, of_edges, flags = self._turn_backward(t, stride, places, cotangents)
            sums = [s + g for s, g in zip(sums, of_edges, strict=True)]
            return t - 1, new, sums, [s | f for s, f in zip(seen, flags, strict=True)]

        sums = [jnp.zeros(a.shape, a.dtype) for a in body.gradient_avals[len(body.reached) :]]
        seen = [jnp.zeros((), bool)] * body.n_flags
        _, of_init, sums, seen = lax.while_loop(
            lambda carry: carry[0] >= 0, back, (count - 1, given, sums, seen)
        )
        # What only the body uses has a gradient if there was a turn (that used it).
        when = [
            dict.fromkeys(range(len(self.rooted)), count > 0 if in_turn is True else in_turn)
            for in_turn in _in_any_turn(body, seen)
        ]
        return [*of_init, *sums], [None] * len(of_init) + when

    def _states(self, stride: Any) -> list[Any]:
        """Run the loop once more and return the state before each ``stride``-th turn."""

        def remember(t: Any, carry: Any) -> Any:
            values, places = carry
            at = t // stride
            places = [
                jnp.where(t % stride == 0, p.at[at].set(v), p)
                for p, v in zip(places, values, strict=True)
            ]
            return self._turn(values), places

        places = [jnp.zeros((_PLACES, *a.shape), a.dtype) for a in self._init]
        return lax.fori_loop(0, self._count, remember, (self._init, places))[1]

    def _turn_backward(self, t: Any, stride: Any, places: list[Any], cotangents: Any) -> Any:
        """Run turn ``t`` backward, and return the gradients of the state before it and of the
        edges, and flags."""
        body, at = self._body, t // stride
        like = [p[at].astype(a.dtype) for p, a in zip(places, self._init, strict=True)]
        start = [_as_weak_as(v, a) for v, a in zip(like, self._init, strict=True)]
        values = lax.fori_loop(at * stride, t, lambda _, v: self._turn(v), start)
        _, residuals = body.run_forward(body.closed, values)
        arrived = zeros_of(body)
        for i, c in zip(self.rooted, cotangents, strict=True):
            if i in arrived:
                arrived[i] += c
        of_inputs, of_edges, flags = body.run_backward(residuals, body.closed, values, arrived)
        by_input = dict(zip(body.reached, of_inputs, strict=True))
        new = [
            by_input[i] if i in by_input else jnp.zeros_like(c)
            for i, c in zip(self.rooted, cotangents, strict=True)
        ]
        return new, of_edges, flags


def _in_any_turn(body: TracedSubgraph, seen: Sequence[Any]) -> list[Any]:
    """Return, for each edge out of a loop's body, True where every turn uses it, else whether one
    did."""
    return [
        functools.reduce(either, (True if c is True else seen[c] for c in when.values()))
        for when in body.when[len(body.reached) :]
    ]


def _as_weak_as(value: Any, like: Any) -> Any:
    if getattr(like, "weak_type", False) or getattr(jax.typeof(like), "weak_type", False):
        return weak(float if value.dtype.kind == "f" else int, value)
    return value


# -- scans -----------------------------------------------------------------------------------------


def scan(
    fn: Callable[..., Any],
    init: Sequence[Any],
    xs: Sequence[Tensor],
    reverse: bool,
    length: int,
    mismatch: Callable[..., None],
    seen_as: Callable[..., SubgraphCapture] = SubgraphCapture,
    vary: Callable[[Sequence[Any]], dict[int, Any]] | None = None,
) -> tuple[list[Any], Any]:
    """Run ``fn(*state, *slices) -> ([*state, *ys], aux)`` over the first dimension of ``xs``.

    ``vary`` is given the arrays read from outside, and says which of them (by position) have
    another value at each step: an array with one row for each.

    Gives the last state followed by the stacked ys, and aux.
    """
    n = len(init)
    start = [array_of(x) for x in init]
    rows = [x._read() for x in xs]
    leaves = [SubgraphLeaf(x) for x in init]
    slices = [SubgraphLeaf(x) for x in xs]
    for leaf in slices:
        leaf.shape = leaf.shape[1:]
    row_avals = [jax.ShapeDtypeStruct(r.shape[1:], r.dtype) for r in rows]
    avals = [jax.typeof(a) for a in start] + row_avals
    subgraph = _stable(
        lambda given: TracedSubgraph(fn, [*given, *slices], avals, "a scan", seen_as),
        leaves,
        mismatch,
    )
    results = [*leaves, *(_stacked(leaf, length) for leaf in subgraph.outputs[n:])]
    found = _Scan(
        subgraph,
        start,
        rows,
        vary(subgraph.closed) if vary is not None else {},
        reverse,
        length,
        [i for i, leaf in enumerate(results) if leaf.requires_grad],
    )
    edges = [_edge(init[i]) for i in found.state_roots] + [
        _edge(xs[i - n]) for i in found.row_roots
    ]
    edges += subgraph.edges
    return joined("ScanBackward", results, found.arrays, edges, found.backward), subgraph.aux


class _Scan:
    """One ``lax.scan``, which runs when it is made, and its backward."""

    def __init__(
        self,
        subgraph: TracedSubgraph,
        start: list[Any],
        rows: list[Any],
        varying: dict[int, Any],
        reverse: bool,
        length: int,
        rooted: list[int],
    ) -> None:
        """Run the scan. ``rooted``: the results that require grad; those of the last state come
        first."""
        n = len(start)
        self._subgraph = subgraph
        self._start = start
        self._rows = rows
        self._reverse = reverse
        self._length = length
        #: The arrays from outside that have a row for each step, by their positions.
        self._varying = list(varying)
        self._varied = list(varying.values())
        self._rooted = rooted
        self.state_roots = [i for i in rooted if i < n]
        #: The inputs of a step that are rows of ``xs`` and get gradients.
        self.row_roots = [i for i in subgraph.reached if i >= n]
        # Of the state going into a step, what its backward asks for.
        first = len(subgraph.closed)
        asked = [i - first for i in subgraph.residual_inputs if i >= first]
        self._saved_state = [i for i in asked if i < n]
        last, (ys, self._residuals, self._states) = lax.scan(
            self._step, start, (rows, self._varied), reverse=reverse, length=length
        )
        self.arrays = [*last, *ys]

    def _closed_at(self, values: Sequence[Any]) -> list[Any]:
        """Return the values that the body reads outside, at one step."""
        found = list(self._subgraph.closed)
        for i, value in zip(self._varying, values, strict=True):
            found[i] = value
        return found

    def _step(self, carry: Any, x: Any) -> Any:
        row, values = x
        found, residuals = self._subgraph.run_forward(self._closed_at(values), [*carry, *row])
        n = len(self._start)
        return found[:n], (found[n:], residuals, [carry[i] for i in self._saved_state])

    def _step_backward(self, carry: Any, x: Any) -> Any:
        subgraph, roots = self._subgraph, self.state_roots
        of_state, sums, seen = carry
        residuals, states, row, at, of_ys = x
        arrived = zeros_of(subgraph)
        for i, c in zip(self._rooted, [*of_state, *of_ys], strict=True):
            if i in arrived:
                arrived[i] += c
        values: list[Any] = [jnp.zeros(a.shape, a.dtype) for a in self._start]
        for i, v in zip(self._saved_state, states, strict=True):
            values[i] = v
        of_inputs, of_edges, flags = subgraph.run_backward(
            residuals, self._closed_at(at), [*values, *row], arrived
        )
        by_input = dict(zip(subgraph.reached, of_inputs, strict=True))
        new = [
            by_input[i] if i in by_input else jnp.zeros_like(c)
            for i, c in zip(roots, of_state, strict=True)
        ]
        sums = [s + g for s, g in zip(sums, of_edges, strict=True)]
        seen = [s | f for s, f in zip(seen, flags, strict=True)]
        return (new, sums, seen), [by_input[i] for i in self.row_roots]

    def backward(self, cotangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Compute the gradients of the first state, of the rows, and of what the body read
        outside."""
        subgraph = self._subgraph
        given = filled(cotangents, [self.arrays[i] for i in self._rooted])
        n = len(self.state_roots)
        avals = subgraph.gradient_avals[len(subgraph.reached) :]
        sums = [jnp.zeros(a.shape, a.dtype) for a in avals]
        seen = [jnp.zeros((), bool)] * subgraph.n_flags
        (of_init, sums, seen), of_rows = lax.scan(
            self._step_backward,
            (given[:n], sums, seen),
            (self._residuals, self._states, self._rows, self._varied, given[n:]),
            reverse=not self._reverse,
            length=self._length,
        )
        when = [
            None if in_turn is True else dict.fromkeys(range(len(self._rooted)), in_turn)
            for in_turn in _in_any_turn(subgraph, seen)
        ]
        return [*of_init, *of_rows, *sums], [None] * (len(of_init) + len(of_rows)) + when


def _stacked(leaf: SubgraphLeaf, length: int) -> SubgraphLeaf:
    found = merged(leaf, leaf)
    if leaf.kind is not None:
        kinds = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool}
        found.kind, found.dtype = None, kinds[leaf.kind]
    found.shape = (length, *leaf.shape)
    return found
