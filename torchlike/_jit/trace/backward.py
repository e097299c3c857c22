"""The backward of a captured function: traced with it, then cut off by the partitioner.

During a capture whose outputs require grad, the tape's backward is run in the same trace on
placeholder cotangents. That joint graph keeps all of eager autograd's meaning (detach, no_grad,
custom Functions, hooks). Here it becomes two programs, with the values that cross as residuals.
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax

from torchlike._core import tape
from torchlike._core.tape import AccumulateGrad, Edge, Node
from torchlike._jit.capture.capture import Capture
from torchlike._jit.guards.sources import CotangentInput, InputSource, SecondCotangent
from torchlike._jit.trace.outputs import CapturedOutputs, TraceResults
from torchlike._runtime.computed_once import computed_once
from torchlike._runtime.jax_private.jaxprs import is_literal, program_like, staged
from torchlike.autograd import conditional_grad, engine
from torchlike.autograd.conditional_grad import ConditionalGrad
from torchlike.tensor import Tensor, wrap


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

    def program(*inputs: Any) -> Any:
        return staged(computed_once(jaxpr))(*constants, *inputs)

    return program


def backward_evaluator(split: Split, constants: list[Any]) -> Callable[..., Any]:
    """Return the function ``(residuals, cotangents) -> gradients``."""
    jaxpr, used = split.backward

    flat = flattening(used)

    def backward(residuals: Any, cotangents: Any) -> Any:
        return staged(computed_once(jaxpr))(*constants, *flat(residuals, cotangents))

    return backward


def flattening(used: Sequence[bool]) -> Callable[..., list[Any]]:
    """Return the function of ``(residuals, cotangents)`` that makes one list of them, without the
    cotangents that are not ``used``."""

    def flat(residuals: Any, cotangents: Any) -> list[Any]:
        outputs, inputs = residuals
        return [*outputs, *inputs, *(c for c, u in zip(cotangents, used, strict=True) if u)]

    return flat


class JointBackward:
    """The backward of one capture, from a placeholder for each output that requires grad.

    Traces the backward of a captured function: gradients of all that its outputs depend on.

    Where outputs of a capture require grad, the tape's backward runs in the same trace, on
    placeholder cotangents. The partitioner cuts what comes out in two.
    """

    def __init__(
        self,
        capture: Capture,
        results: TraceResults,
        outputs: CapturedOutputs,
        arguments: Sequence[Tensor],
    ) -> None:
        """Prepare the backward of one trace. ``arguments``: what the function saw for the tensors
        among its arguments."""
        self._capture = capture
        self._results = results
        self._outputs = outputs
        self._arguments = arguments
        self._cotangents: list[Any] = []

    def sources(self) -> dict[int, InputSource]:
        """Return the source of each placeholder, by its id."""
        return {id(c): CotangentInput(i) for i, c in enumerate(self._cotangents)}

    def trace(self) -> list[Any]:
        """Run the backward from placeholders, and return the gradients of everything outside that
        the outputs depend on."""
        capture, roots = self._capture, self._outputs.roots
        edges = [edge for _, edge in roots]
        boundary = boundary_of(edges, capture.first_sequence, self._ends_here)
        for t, _ in roots:
            aval = (tuple(t.shape), t.dtype.numpy)
            self._results.cotangent_avals.append(jax.ShapeDtypeStruct(*aval))
            with capture.outside():
                self._cotangents.append(jax.numpy.zeros(*aval))
        with hooks_left_to_others(boundary):
            gradients = engine.run(
                edges,
                [ConditionalGrad(c, {i: True}) for i, c in enumerate(self._cotangents)],
                retain_graph=True,
                create_graph=False,
                targets=boundary,
                accumulate=False,
                stop_before=capture.first_sequence,
            )
        self._results.behind = behind(edges, capture.first_sequence)
        self._results.boundary = [self._origin(edge) for edge in boundary]
        flags: list[Any] = []
        self._results.when = [
            conditional_grad.numbered(conditional_grad.when_of(g), flags) for g in gradients
        ]
        arrays = [conditional_grad.array_of(g) for g in gradients if g is not None]
        # Tensors where a node calls operators that classes see.
        return [a._read() if isinstance(a, Tensor) else a for a in arrays] + flags

    def _ends_here(self, leaf: Tensor) -> bool:
        """Return whether a leaf was made inside, and no call gives it back."""
        created = self._capture.is_created(leaf._storage)
        return created and self._outputs.template_of_made(leaf) is None

    def _origin(self, edge: Edge) -> Any:
        """Return how a boundary edge is found at the next call: an argument, a leaf (from outside,
        or by the template of one that each call makes), or the edge itself."""
        node, nr = edge
        if isinstance(node, AccumulateGrad) and self._capture.is_created(node.variable._storage):
            self._results.repeats = True  # the leaf that is given back is the one of the edge
            return self._outputs.template_of_made(node.variable)

        def is_of(t: Tensor) -> bool:
            leaf = isinstance(node, AccumulateGrad) and node.variable is t
            return leaf or (t._node is node and t._output_nr == nr)

        for i, t in enumerate(self._arguments):
            if is_of(t):
                return i
        for slot in self._capture.slots.values():
            if (
                slot.is_read
                and self._capture.bindings.is_rebound(slot)
                and (isinstance(slot.initial, Tensor) and is_of(slot.initial))
            ):
                return slot
        return node.variable if isinstance(node, AccumulateGrad) else edge


class RecordedBackward(JointBackward):
    """For ``create_graph`` (see ``double``): the backward is recorded, and its own is traced.

    Attributes:
      gradients: the arrays of the gradients, of those edges of the boundary that have one.
      arrived: for each edge of the boundary, whether it has one.
      roots: which of the gradients depend on what requires grad.
      targets: where the gradients of those lead: a cotangent, or (an int) an edge of the
        boundary.
    """

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self.gradients: list[Any] = []
        self.arrived: list[bool] = []
        self.roots: list[int] = []
        self.targets: list[CotangentInput | int] = []
        self._second: list[Any] = []

    def sources(self) -> dict[int, InputSource]:
        second = {id(c): SecondCotangent(i) for i, c in enumerate(self._second)}
        return {**super().sources(), **second}

    def trace(self) -> list[Any]:
        """Run the backward, recorded, and return the gradients and their own gradients from
        placeholders (see double)."""
        capture = self._capture
        edges = [edge for _, edge in self._outputs.roots]
        boundary = boundary_of(edges, capture.first_sequence, self._ends_here)
        incoming = []
        for t, _ in self._outputs.roots:
            with capture.outside():
                self._cotangents.append(jax.numpy.zeros(tuple(t.shape), t.dtype.numpy))
            incoming.append(wrap(self._cotangents[-1]).requires_grad_())
        into: dict[Any, CotangentInput | int] = {
            tape.gradient_edge(c): CotangentInput(i) for i, c in enumerate(incoming)
        }
        into |= {edge: i for i, edge in enumerate(boundary)}
        self._results.boundary = [self._origin(edge) for edge in boundary]
        with hooks_left_to_others(boundary):
            found = engine.run(
                edges,
                incoming,
                retain_graph=True,
                create_graph=True,
                targets=boundary,
                accumulate=False,
                stop_before=capture.first_sequence,
            )
        self.arrived = [g is not None for g in found]
        found = [g for g in found if g is not None]
        roots: dict[int, Any] = {
            i: tape.gradient_edge(g)
            for i, g in enumerate(found)
            if isinstance(g, Tensor) and g.requires_grad
        }
        self.roots = list(roots)
        reached = boundary_of(list(roots.values()), capture.first_sequence, lambda s: False)
        targets = [e for e in into if e in reached]
        self.targets = [into[e] for e in targets]
        self.gradients = [g._read() for g in found]
        for i in roots:
            with capture.outside():
                like = self.gradients[i]
                self._second.append(jax.numpy.zeros(like.shape, like.dtype))
        with hooks_left_to_others(targets):
            second = engine.run(
                list(roots.values()),
                self._second,
                retain_graph=True,
                create_graph=False,
                targets=targets,
                accumulate=False,
                stop_before=capture.first_sequence,
            )
        return self.gradients + [conditional_grad.array_of(g) for g in second]
