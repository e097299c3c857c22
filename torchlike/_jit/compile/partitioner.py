"""The partitioner cuts a joint graph in two: the backward is what depends on the cotangents.

During a capture whose outputs require grad, the tape's backward is run in the same trace on
placeholder cotangents. That joint graph keeps all of eager autograd's meaning (detach, no_grad,
custom Functions, hooks). Here it becomes two programs, with the values that cross as residuals.
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from torchlike._core.tape import AccumulateGrad, Edge, Node
from torchlike._runtime.jax_private.jaxprs import is_literal, program_like, staged


class Split(NamedTuple):
    """The two halves, and what passes between them."""

    forward: Any
    #: Inputs of the forward that the backward needs as well (kept by reference, not copied out).
    residual_inputs: list[int]
    backward: Any
    #: The backward's variables: residual outputs, residual inputs, constants, cotangents.
    n_constants: int


def boundary_of(
    roots: Sequence[Edge], first_sequence: int, is_own: Callable[[Any], Any]
) -> list[Edge]:
    """Return the edges that leave a captured graph: to leaves (but those that ``is_own`` says end
    with it), and to nodes recorded before ``first_sequence``."""
    found: dict[Edge, None] = {}
    seen, stack = set(), list(roots)
    while stack:
        edge = stack.pop()
        node = edge[0]
        if isinstance(node, AccumulateGrad):
            if not is_own(node.variable):
                found[edge] = None
            continue
        if node.sequence < first_sequence:
            found[edge] = None
            continue
        if node not in seen:
            seen.add(node)
            stack += [e for e in node.edges if e is not None]
    return list(found)


def behind(roots: Sequence[Edge], first_sequence: int) -> list[int]:
    """Return for each root, as bits, the other roots that were computed from it."""
    if len(roots) < 2:
        return [0] * len(roots)
    led_to: dict[Node, int] = {}  # the roots that are computed from a node, and from an edge
    through: dict[Edge, int] = {}
    for i, (node, _) in enumerate(roots):
        led_to[node] = led_to.get(node, 0) | 1 << i
    order = [(-node.sequence, i, node) for i, node in enumerate(led_to)]
    heapq.heapify(order)
    while order:
        node = heapq.heappop(order)[2]
        if node.sequence < first_sequence:
            continue
        for edge in node.edges:
            if edge is None:
                continue
            through[edge] = through.get(edge, 0) | led_to[node]
            if edge[0] not in led_to:
                led_to[edge[0]] = 0
                heapq.heappush(order, (-edge[0].sequence, len(led_to), edge[0]))
            led_to[edge[0]] |= led_to[node]
    return [through.get(edge, 0) for edge in roots]


@contextlib.contextmanager
def hooks_left_to_others(ends: Sequence[Edge]) -> Iterator[None]:
    """Take the hooks (and retained gradients) off, within a `with` block, where a captured graph's
    edges end: the pass that takes the gradients on from there calls them."""
    kept = {node: (node.pre_hooks, node.hooks, node.retained) for node, _ in ends}
    try:
        for node in kept:
            node.pre_hooks = node.hooks = node.retained = None
        yield
    finally:
        for node, (before, around, retained) in kept.items():
            node.pre_hooks, node.hooks, node.retained = before, around, retained


def _is_var(x: Any) -> Any:
    return not is_literal(x)


def partition(
    jaxpr: Any,
    n_forward: int,
    inputs: list[Any],
    constants: list[Any],
    cotangents: dict[int, Any],
    n_cotangents: int,
) -> Split:
    """Split a jaxpr whose first ``n_forward`` outputs are the forward's, the rest gradients."""
    if not n_cotangents:
        forward = program_like(jaxpr, constants + inputs, jaxpr.outvars[:n_forward], jaxpr.eqns)
        return Split(forward, [], None, len(constants))
    late = set(cotangents.values())
    early_eqns, late_eqns = [], []
    for eqn in jaxpr.eqns:
        if any(_is_var(v) and v in late for v in eqn.invars):
            late.update(eqn.outvars)
            late_eqns.append(eqn)
        else:
            early_eqns.append(eqn)
    gradients = jaxpr.outvars[n_forward:]
    # Only what the gradients need.
    needed = {v for v in gradients if _is_var(v)}
    kept_eqns = []
    for eqn in reversed(late_eqns):
        if any(v in needed for v in eqn.outvars):
            kept_eqns.append(eqn)
            needed.update(v for v in eqn.invars if _is_var(v))
    kept_eqns.reverse()
    made_late = {v for eqn in kept_eqns for v in eqn.outvars} | set(cotangents.values())
    position = {v: i for i, v in enumerate(inputs)}
    residual_inputs = [position[v] for v in inputs if v in needed]
    residuals = []
    for eqn in early_eqns:
        residuals += [v for v in eqn.outvars if v in needed and v not in made_late]
    outputs = [*jaxpr.outvars[:n_forward], *residuals]
    forward = program_like(jaxpr, constants + inputs, outputs, early_eqns)
    backward_inputs = [*constants, *residuals, *(inputs[i] for i in residual_inputs)]
    ordered = [cotangents.get(i) for i in range(n_cotangents)]
    backward_inputs += [v for v in ordered if v is not None]
    backward = (
        program_like(jaxpr, backward_inputs, gradients, kept_eqns),
        [v is not None for v in ordered],
    )
    return Split(forward, residual_inputs, backward, len(constants))


def evaluator(jaxpr: Any, constants: list[Any]) -> Callable[..., Any]:
    """Return ``jaxpr`` as a function of its inputs, the leading constants bound."""
    run = staged(jaxpr)

    def program(*inputs: Any) -> Any:
        return run(*constants, *inputs)

    return program


def backward_evaluator(split: Split, constants: list[Any]) -> Callable[..., Any]:
    """Return the function ``(residuals, cotangents) -> gradients``."""
    jaxpr, used = split.backward
    run = staged(jaxpr)

    def backward(residuals: Any, cotangents: Any) -> Any:
        outputs, inputs = residuals
        given = [c for c, u in zip(cotangents, used, strict=True) if u]
        return run(*constants, *outputs, *inputs, *given)

    return backward
