"""Control flow in a captured graph: regions become lax.cond, lax.while_loop and lax.scan.

Forward runs the regions' forward halves and keeps their residuals; backward is the same control
flow over the backward halves (see ``subgraph``).

- A condition keeps residuals of both branches, zeros for the one not taken, as jax.grad does.
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
from torchlike._core.tensor import Tensor
from torchlike.autograd.partial import When, either, union
from torchlike.jit.capture.scalars import weak
from torchlike.jit.control_flow.subgraph import (
    Leaf,
    Region,
    RegionCapture,
    array_of,
    filled,
    joined,
)

#: How many states the backward of a while loop keeps.
_PLACES = 64


def predicate(x: Any) -> Any:
    """A tensor of one element, or a number, as lax.cond's predicate."""
    array = array_of(x)
    return (array if array.dtype == bool else array != 0).reshape(())


# -- conditions ------------------------------------------------------------------------------------


def select(test: Any, regions: Sequence[Region], pairs: Sequence[tuple[int, int]]) -> list[Any]:
    """Outputs of the region that ``test`` chooses: pair (i, j) is output i of the first region or
    output j of the second, which must be alike; -1 stands for zeros that nobody will look at."""
    closed: dict[int, Any] = {id(c): c for r in regions for c in r.closed}
    every = list(closed.values())
    position = {key: i for i, key in enumerate(closed)}
    taken = [[position[id(c)] for c in r.closed] for r in regions]

    def forward(k: int) -> Callable[..., Any]:
        def branch(every: Any) -> Any:
            outputs, residuals = regions[k].run_forward([every[i] for i in taken[k]], [])
            kept = [
                residuals if j == k else [jnp.zeros(a.shape, a.dtype) for a in r.residual_avals]
                for j, r in enumerate(regions)
            ]
            return [
                outputs[pair[k]] if pair[k] >= 0 else _blank(regions[1 - k], pair[1 - k])
                for pair in pairs
            ], kept

        return branch

    chosen = predicate(test)
    arrays, residuals = lax.cond(chosen, forward(0), forward(1), every)
    edges = list(dict.fromkeys(e for r in regions for e in r.edges))
    avals = {e: a for r in regions for e, a in zip(r.edges, r.gradient_avals, strict=True)}
    leaves = [
        _either(
            regions[0].outputs[i] if i >= 0 else regions[1].outputs[j],
            regions[1].outputs[j] if j >= 0 else regions[0].outputs[i],
        )
        for i, j in pairs
    ]
    rooted = [n for n, leaf in enumerate(leaves) if leaf.requires_grad]

    def backward(cotangents: Sequence[Any]) -> Any:
        given = filled(cotangents, [arrays[n] for n in rooted])

        def half(k: int) -> Callable[..., Any]:
            region = regions[k]

            def branch(every: Any, residuals: Any, given: Any) -> Any:
                arrived = _zeros(region)
                for n, c in zip(rooted, given, strict=True):
                    if pairs[n][k] in arrived:
                        arrived[pairs[n][k]] += c
                closed = [every[i] for i in taken[k]]
                _, found, flags = region.run_backward(residuals[k], closed, [], arrived)
                by_edge = dict(zip(region.edges, found, strict=True))
                return [
                    by_edge[e] if e in by_edge else jnp.zeros(avals[e].shape, avals[e].dtype)
                    for e in edges
                ], [
                    flags if j == k else [jnp.zeros((), bool)] * r.n_flags
                    for j, r in enumerate(regions)
                ]  # fmt: skip

            return branch

        found, flags = lax.cond(chosen, half(0), half(1), every, residuals, given)
        is_taken = [chosen, ~chosen]
        yes, no = (
            _ways_out(r, [pairs[n][k] for n in rooted], is_taken[k], flags[k])
            for k, r in enumerate(regions)
        )
        return found, [_in_either(yes.get(e, {}), no.get(e, {}), is_taken) for e in edges]

    return joined("CondBackward", leaves, arrays, list(edges), backward)


def _ways_out(
    region: Region, outputs: Sequence[int], is_taken: Any, flags: Sequence[Any]
) -> dict[Any, When]:  # fmt: skip
    """For each edge out of a branch, which of these outputs of it lead there, and when."""
    roots = {i: region.roots.index(o) for i, o in enumerate(outputs) if o in region.roots}
    return {
        edge: {
            i: is_taken if own[root] is True else flags[own[root]]
            for i, root in roots.items() if root in own
        }
        for edge, own in zip(region.edges, region.when, strict=True)
    }  # fmt: skip


def _in_either(yes: When, no: When, is_taken: Sequence[Any]) -> When:
    """When one of two branches leads there; where both always do, whichever is taken."""
    found = union([yes, no])
    always = [i for i in found if yes.get(i) is is_taken[0] and no.get(i) is is_taken[1]]
    return {**found, **dict.fromkeys(always, True)}


def _either(a: Leaf, b: Leaf) -> Leaf:
    merged = object.__new__(Leaf)
    merged.kind, merged.shape, merged.dtype = a.kind, a.shape, a.dtype
    merged.requires_grad = a.requires_grad or b.requires_grad
    return merged


def _blank(region: Region, i: int) -> Any:
    """Zeros of the kind of a region's output."""
    leaf, aval = region.outputs[i], region.output_avals[i]
    zeros = jnp.zeros(aval.shape, aval.dtype)
    return zeros if leaf.kind is None else weak(leaf.kind, zeros)


def _zeros(region: Region) -> dict[int, Any]:
    """Cotangents of a region's outputs, still zero."""
    avals = region.output_avals
    return {i: jnp.zeros(avals[i].shape, avals[i].dtype) for i in region.roots}


# -- loops -----------------------------------------------------------------------------------------


def _stable(
    make: Callable[[list[Leaf]], Region], leaves: list[Leaf], mismatch: Callable[..., None]
) -> Region:
    """The body of a loop, with ``requires_grad`` of its state as it is after any number of turns.

    ``mismatch(i, before, after)`` must raise where the state's kind changes in a turn.
    """
    while True:
        region = make(leaves)
        changed = False
        for i, (before, after) in enumerate(zip(leaves, region.outputs, strict=False)):
            if not before.alike(after):
                mismatch(i, before, after)
            if after.requires_grad and not before.requires_grad:
                before.requires_grad = changed = True
        if not changed:
            return region


def loop(
    test_fn: Callable[..., Any], body_fn: Callable[..., Any], state: Sequence[Any],
    mismatch: Callable[..., None],
) -> list[Any]:  # fmt: skip
    """``while test_fn(*state): state = body_fn(*state)`` on tensors and numbers.

    ``body_fn`` gives (new state, aux), ``test_fn`` ([truth], aux).
    """
    init = [array_of(x) for x in state]
    avals = [jax.typeof(a) for a in init]
    leaves = [Leaf(x) for x in state]
    edges: list[Any] = [
        gradient_edge(x) if isinstance(x, Tensor) and x.requires_grad else None for x in state
    ]
    body = _stable(
        lambda given: Region(body_fn, given, avals, "a loop on a tensor's value"), leaves, mismatch
    )
    with_grad = any(leaf.requires_grad for leaf in leaves)
    untracked = [Leaf(x) for x in state]
    for leaf in untracked:
        leaf.requires_grad = False
    test = Region(test_fn, untracked, avals, "the test of a loop")

    def holds(carry: Any) -> Any:
        truth = test.run_forward(test.closed, carry[1])[0][0]
        return (truth if truth.dtype == bool else truth != 0).reshape(())

    def turn(closed: Any, values: Any) -> Any:
        return body.run_forward(closed, values)[0]

    count, final = lax.while_loop(
        holds, lambda carry: (carry[0] + 1, turn(body.closed, carry[1])),
        (jnp.zeros((), jnp.int64), init),
    )  # fmt: skip
    rooted = [i for i, leaf in enumerate(leaves) if leaf.requires_grad]

    def backward(cotangents: Sequence[Any]) -> Any:
        given = filled(cotangents, [final[i] for i in rooted])
        stride = jnp.maximum((count + _PLACES - 1) // _PLACES, 1)
        places = [jnp.zeros((_PLACES, *a.shape), a.dtype) for a in init]

        def remember(t: Any, carry: Any) -> Any:
            values, places = carry
            at = t // stride
            places = [
                jnp.where(t % stride == 0, p.at[at].set(v), p)
                for p, v in zip(places, values, strict=True)
            ]
            return turn(body.closed, values), places

        _, places = lax.fori_loop(0, count, remember, (init, places))

        def back(carry: Any) -> Any:
            t, cotangents, sums, seen = carry
            at = t // stride
            like = [p[at].astype(a.dtype) for p, a in zip(places, init, strict=True)]
            start = [_as_weak_as(v, a) for v, a in zip(like, init, strict=True)]
            values = lax.fori_loop(at * stride, t, lambda _, v: turn(body.closed, v), start)
            _, residuals = body.run_forward(body.closed, values)
            arrived = _zeros(body)
            for i, c in zip(rooted, cotangents, strict=True):
                if i in arrived:
                    arrived[i] += c
            of_inputs, of_edges, flags = body.run_backward(residuals, body.closed, values, arrived)
            by_input = dict(zip(body.reached, of_inputs, strict=True))
            new = [
                by_input[i] if i in by_input else jnp.zeros_like(c)
                for i, c in zip(rooted, cotangents, strict=True)
            ]
            sums = [s + g for s, g in zip(sums, of_edges, strict=True)]
            return t - 1, new, sums, [s | f for s, f in zip(seen, flags, strict=True)]

        sums = [jnp.zeros(a.shape, a.dtype) for a in body.gradient_avals[len(body.reached) :]]
        seen = [jnp.zeros((), bool)] * body.n_flags
        _, of_init, sums, seen = lax.while_loop(
            lambda carry: carry[0] >= 0, back, (count - 1, given, sums, seen)
        )
        # What only the body uses has a gradient if there was a turn (that used it).
        when = [
            dict.fromkeys(range(len(rooted)), count > 0 if in_turn is True else in_turn)
            for in_turn in _in_any_turn(body, seen)
        ]
        return [*of_init, *sums], [None] * len(of_init) + when

    outgoing = [edges[i] for i in rooted] + list(body.edges)
    return joined("WhileLoopBackward", leaves, final, outgoing if with_grad else [], backward)


def _in_any_turn(body: Region, seen: Sequence[Any]) -> list[Any]:
    """For each edge out of a loop's body: True where every turn uses it, else whether one did."""
    return [
        functools.reduce(either, (True if c is True else seen[c] for c in when.values()))
        for when in body.when[len(body.reached) :]
    ]


def _as_weak_as(value: Any, like: Any) -> Any:
    if getattr(like, "weak_type", False) or getattr(jax.typeof(like), "weak_type", False):
        return weak(float if value.dtype.kind == "f" else int, value)
    return value


def scan(
    fn: Callable[..., Any], init: Sequence[Any], xs: Sequence[Tensor], reverse: bool, length: int,
    mismatch: Callable[..., None], seen_as: Callable[..., RegionCapture] = RegionCapture,
    vary: Callable[[Sequence[Any]], dict[int, Any]] | None = None,
) -> tuple[list[Any], Any]:  # fmt: skip
    """``fn(*state, *slices) -> ([*state, *ys], aux)`` over the first dimension of ``xs``.

    ``vary`` is given the arrays read from outside, and says which of them (by position) have
    another value at each step: an array with one row for each.

    Gives the last state followed by the stacked ys, and aux.
    """
    n = len(init)
    start = [array_of(x) for x in init]
    rows = [x._read() for x in xs]
    leaves = [Leaf(x) for x in init]
    slices = [Leaf(x) for x in xs]
    for leaf in slices:
        leaf.shape = leaf.shape[1:]
    row_avals = [jax.ShapeDtypeStruct(r.shape[1:], r.dtype) for r in rows]
    avals = [jax.typeof(a) for a in start] + row_avals
    region = _stable(
        lambda given: Region(fn, [*given, *slices], avals, "a scan", seen_as), leaves, mismatch
    )
    closed = region.closed
    varying = vary(closed) if vary is not None else {}

    def closed_at(values: Sequence[Any]) -> list[Any]:
        found = list(closed)
        for i, value in zip(varying, values, strict=True):
            found[i] = value
        return found

    outputs = region.outputs
    # Of the state going into a step, what its backward asks for.
    asked = [i - len(closed) for i in region.residual_inputs if i >= len(closed)]
    saved_state = [i for i in asked if i < n]

    def step(carry: Any, x: Any) -> Any:
        row, values = x
        found, residuals = region.run_forward(closed_at(values), [*carry, *row])
        return found[:n], (found[n:], residuals, [carry[i] for i in saved_state])

    varied = list(varying.values())
    last, (ys, residuals, states) = lax.scan(
        step, start, (rows, varied), reverse=reverse, length=length
    )
    merged = [
        *leaves,
        *(_stacked(leaf, length) for leaf in outputs[n:]),
    ]
    arrays = [*last, *ys]
    rooted = [i for i, leaf in enumerate(merged) if leaf.requires_grad]
    state_roots = [i for i in rooted if i < n]
    wanted_rows = [i for i in region.reached if i >= n]

    def backward(cotangents: Sequence[Any]) -> Any:
        given = filled(cotangents, [arrays[i] for i in rooted])
        of_state, of_ys = given[: len(state_roots)], given[len(state_roots) :]
        y_roots = rooted[len(state_roots) :]

        def back(carry: Any, x: Any) -> Any:
            of_state, sums, seen = carry
            residuals, states, row, at, of_ys = x
            arrived = _zeros(region)
            for i, c in [*zip(state_roots, of_state, strict=True), *zip(y_roots, of_ys,
                                                                        strict=True)]:  # fmt: skip
                if i in arrived:
                    arrived[i] += c
            values: list[Any] = [jnp.zeros(a.shape, a.dtype) for a in start]
            for i, v in zip(saved_state, states, strict=True):
                values[i] = v
            of_inputs, of_edges, flags = region.run_backward(
                residuals, closed_at(at), [*values, *row], arrived
            )
            by_input = dict(zip(region.reached, of_inputs, strict=True))
            new = [
                by_input[i] if i in by_input else jnp.zeros_like(c)
                for i, c in zip(state_roots, of_state, strict=True)
            ]
            sums = [s + g for s, g in zip(sums, of_edges, strict=True)]
            seen = [s | f for s, f in zip(seen, flags, strict=True)]
            return (new, sums, seen), [by_input[i] for i in wanted_rows]

        avals = region.gradient_avals[len(region.reached) :]
        sums = [jnp.zeros(a.shape, a.dtype) for a in avals]
        seen = [jnp.zeros((), bool)] * region.n_flags
        (of_init, sums, seen), of_rows = lax.scan(
            back, (of_state, sums, seen), (residuals, states, rows, varied, of_ys),
            reverse=not reverse, length=length,
        )  # fmt: skip
        when = [
            None if in_turn is True else dict.fromkeys(range(len(rooted)), in_turn)
            for in_turn in _in_any_turn(region, seen)
        ]
        return [*of_init, *of_rows, *sums], [None] * (len(of_init) + len(of_rows)) + when

    def edge(x: Any) -> Any:
        return gradient_edge(x) if isinstance(x, Tensor) and x.requires_grad else None

    edges = [edge(init[i]) for i in state_roots] + [edge(xs[i - n]) for i in wanted_rows]
    return (
        joined("ScanBackward", merged, arrays, edges + list(region.edges), backward),
        region.aux,
    )


def _stacked(leaf: Leaf, length: int) -> Leaf:
    found = _either(leaf, leaf)
    if leaf.kind is not None:
        kinds = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool}
        found.kind, found.dtype = None, kinds[leaf.kind]
    found.shape = (length, *leaf.shape)
    return found
