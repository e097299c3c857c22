"""Conditions in a captured graph: two functions are traced, and become one ``lax.cond``.

Forward runs the branches' forward halves and keeps their residuals, zeros for the one not taken, as
``jax.grad`` does. Backward is a condition over the backward halves (see ``subgraph``).
``loop_lowering`` does the same for loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from torchlike._jit.capture.scalars import Number, weak
from torchlike._jit.guards.guard import same
from torchlike._jit.trace.subgraph import SubgraphLeaf, TracedSubgraph, array_of, filled, joined
from torchlike._runtime.trees import flatten, unflatten
from torchlike._runtime.value_check import has_checks
from torchlike.autograd.conditional_grad import When, union
from torchlike.tensor import Tensor


def predicate(x: Any) -> Any:
    """Convert a tensor of one element, or a number, to lax.cond's predicate."""
    array = array_of(x)
    return (array if array.dtype == bool else array != 0).reshape(())


def select(
    test: Any, subgraphs: Sequence[TracedSubgraph], pairs: Sequence[tuple[int, int]]
) -> list[Any]:
    """Return the outputs of the subgraph that ``test`` chooses: pair (i, j) is output i of the
    first or output j of the second, which must be alike; -1 stands for zeros that nobody will look
    at."""
    closed: dict[int, Any] = {id(c): c for r in subgraphs for c in r.closed}
    every = list(closed.values())
    position = {key: i for i, key in enumerate(closed)}
    taken = [[position[id(c)] for c in r.closed] for r in subgraphs]

    def forward(k: int) -> Callable[..., Any]:
        def branch(every: Any) -> Any:
            outputs, residuals = subgraphs[k].run_forward([every[i] for i in taken[k]], [])
            kept = [
                residuals if j == k else [jnp.zeros(a.shape, a.dtype) for a in r.residual_avals]
                for j, r in enumerate(subgraphs)
            ]
            return [
                outputs[pair[k]] if pair[k] >= 0 else _blank(subgraphs[1 - k], pair[1 - k])
                for pair in pairs
            ], kept

        return branch

    chosen = predicate(test)
    arrays, residuals = lax.cond(chosen, forward(0), forward(1), every)
    edges = list(dict.fromkeys(e for r in subgraphs for e in r.edges))
    avals = {e: a for r in subgraphs for e, a in zip(r.edges, r.gradient_avals, strict=True)}
    leaves = [
        merged(
            subgraphs[0].outputs[i] if i >= 0 else subgraphs[1].outputs[j],
            subgraphs[1].outputs[j] if j >= 0 else subgraphs[0].outputs[i],
        )
        for i, j in pairs
    ]
    rooted = [n for n, leaf in enumerate(leaves) if leaf.requires_grad]

    def backward(cotangents: Sequence[Any]) -> tuple[Any, list[When]]:
        given = filled(cotangents, [arrays[n] for n in rooted])

        def half(k: int) -> Callable[..., Any]:
            subgraph = subgraphs[k]

            def branch(every: Any, residuals: Any, given: Any) -> Any:
                arrived = zeros_of(subgraph)
                for n, c in zip(rooted, given, strict=True):
                    if pairs[n][k] in arrived:
                        arrived[pairs[n][k]] += c
                closed = [every[i] for i in taken[k]]
                _, found, flags = subgraph.run_backward(residuals[k], closed, [], arrived)
                by_edge = dict(zip(subgraph.edges, found, strict=True))
                return [
                    by_edge[e] if e in by_edge else jnp.zeros(avals[e].shape, avals[e].dtype)
                    for e in edges
                ], [
                    flags if j == k else [jnp.zeros((), bool)] * r.n_flags
                    for j, r in enumerate(subgraphs)
                ]

            return branch

        found, flags = lax.cond(chosen, half(0), half(1), every, residuals, given)
        is_taken = [chosen, ~chosen]
        yes, no = (
            _ways_out(r, [pairs[n][k] for n in rooted], is_taken[k], flags[k])
            for k, r in enumerate(subgraphs)
        )
        return found, [_in_either(yes.get(e, {}), no.get(e, {}), is_taken) for e in edges]

    return joined("CondBackward", leaves, arrays, list(edges), backward)


def _ways_out(
    subgraph: TracedSubgraph, outputs: Sequence[int], is_taken: Any, flags: Sequence[Any]
) -> dict[Any, When]:
    """Return for each edge out of a branch, which of these outputs of it lead there, and when."""
    roots = {i: subgraph.roots.index(o) for i, o in enumerate(outputs) if o in subgraph.roots}
    return {
        edge: {
            i: is_taken if own[root] is True else flags[own[root]]
            for i, root in roots.items()
            if root in own
        }
        for edge, own in zip(subgraph.edges, subgraph.when, strict=True)
    }


def _in_either(yes: When, no: When, is_taken: Sequence[Any]) -> When:
    """Return the condition under which one of two branches leads there; always, whichever is taken,
    where both do."""
    found = union([yes, no])
    always = [i for i in found if yes.get(i) is is_taken[0] and no.get(i) is is_taken[1]]
    return {**found, **dict.fromkeys(always, True)}


def merged(a: SubgraphLeaf, b: SubgraphLeaf) -> SubgraphLeaf:
    """Merge the results of two branches, which are alike, into one of either."""
    found = object.__new__(SubgraphLeaf)
    found.kind, found.shape, found.dtype = a.kind, a.shape, a.dtype
    found.requires_grad = a.requires_grad or b.requires_grad
    return found


def _blank(subgraph: TracedSubgraph, i: int) -> Any:
    """Return zeros of the kind of a subgraph's output."""
    leaf, aval = subgraph.outputs[i], subgraph.output_avals[i]
    zeros = jnp.zeros(aval.shape, aval.dtype)
    return zeros if leaf.kind is None else weak(leaf.kind, zeros)


def zeros_of(subgraph: TracedSubgraph) -> dict[int, Any]:
    """Return the cotangents of a subgraph's outputs, still zero."""
    avals = subgraph.output_avals
    return {i: jnp.zeros(avals[i].shape, avals[i].dtype) for i in subgraph.roots}


# -------------------------------------------------------------------------------------------------
# Traces two functions in a captured graph, of whose results lax.cond picks one.


#: ``mismatch(part, leaf, a, b)`` raises; leaf -1 for parts of different structure.
Mismatch = Callable[[int, int, Any, Any], None]


class _Absent:
    """The mark of a name without value."""

    def __repr__(self) -> str:
        return "a name without value"


#: A part that one function gives and the other does not is this in the result.
ABSENT = _Absent()


def is_value(x: Any) -> bool:
    """Return whether something can be an output of a subgraph: a tensor or a number."""
    return isinstance(x, Tensor) or type(x) is Number or type(x) in (int, float, bool)


def choose(
    test: Any,
    functions: Sequence[Callable[[], tuple[Any, ...]]],
    names: Sequence[str],
    mismatch: Mismatch,
    filled: Sequence[int] = (),
) -> tuple[Any, ...]:
    """Return the parts that the first function returns where ``test`` holds, else the second's.

    Parts are matched leaf by leaf: the same object stays that object, equal plain values stay
    plain, tensors of one shape and dtype (and numbers of one class) are picked by the graph. A part
    that only one function gives is ABSENT, or (``filled``) zeros where the other is taken.
    """

    def traced(fn: Callable[[], tuple[Any, ...]], name: str) -> TracedSubgraph:
        def body() -> Any:
            parts = [flatten(part) for part in fn()]
            return [x for leaves, _ in parts for x in leaves if is_value(x)], parts

        return TracedSubgraph(body, [], [], name)

    subgraphs = [traced(fn, name) for fn, name in zip(functions, names, strict=True)]
    outputs: list[tuple[int, int]] = []
    results: list[Any] = []
    at = [0, 0]
    for k, ((a_leaves, a_structure), (b_leaves, b_structure)) in enumerate(
        zip(subgraphs[0].aux, subgraphs[1].aux, strict=True)
    ):
        first = list(at)
        at[0] += sum(map(is_value, a_leaves))
        at[1] += sum(map(is_value, b_leaves))
        absent = [len(x) == 1 and x[0] is ABSENT for x in (a_leaves, b_leaves)]
        if any(absent):
            if k not in filled or all(absent):
                results.append((None, [ABSENT]))
                continue
            given = absent.index(False)
            leaves = []
            for x in (a_leaves, b_leaves)[given]:
                leaves.append((is_value(x), len(outputs) if is_value(x) else x))
                if is_value(x):
                    outputs.append((first[0], -1) if given == 0 else (-1, first[1]))
                    first[given] += 1
            results.append(((a_structure, b_structure)[given], leaves))
            continue
        if a_structure != b_structure:
            mismatch(k, -1, unflatten(a_structure, a_leaves), unflatten(b_structure, b_leaves))
        leaves = []
        for i, (a, b) in enumerate(zip(a_leaves, b_leaves, strict=True)):
            here = first[0], first[1]
            first = [first[0] + is_value(a), first[1] + is_value(b)]
            if a is b or same(a, b):
                leaves.append((False, a))
            elif (
                is_value(a)
                and is_value(b)
                and subgraphs[0].outputs[here[0]].alike(subgraphs[1].outputs[here[1]])
            ):
                leaves.append((True, len(outputs)))
                outputs.append(here)
            else:
                mismatch(k, i, a, b)
        results.append((a_structure, leaves))
    for subgraph in subgraphs:
        subgraph.aux = None  # the tape will hold the subgraphs: not the user's tensors as well
    picked: list[Any] = []
    if outputs or any(has_checks(subgraph.forward) for subgraph in subgraphs):
        picked = select(test, subgraphs, outputs)
    return tuple(
        ABSENT
        if leaves == [ABSENT]
        else unflatten(structure, [picked[x] if is_picked else x for is_picked, x in leaves])
        for structure, leaves in results
    )


def describe(x: Any) -> str:
    """Describe a value of a branch in a few words."""
    if is_value(x):
        return str(SubgraphLeaf(x))
    return f"{x!r}" if x is None or isinstance(x, str) else f"a {type(x).__name__}"
