"""Traces the backward of a captured function: gradients of all that its outputs depend on.

Where outputs of a capture require grad, the tape's backward runs in the same trace, on placeholder
cotangents. The partitioner cuts what comes out in two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from torchlike._core import tape
from torchlike._core.tape import AccumulateGrad, Edge
from torchlike._jit.capture.capture import Capture
from torchlike._jit.compile import partitioner
from torchlike._jit.compile.builder import ProgramBuilder
from torchlike._jit.compile.outputs import CapturedOutputs
from torchlike.autograd import engine, partial
from torchlike.autograd.partial import ConditionalGrad
from torchlike.tensor import Tensor, wrap


class JointBackward:
    """The backward of one capture, from a placeholder for each output that requires grad."""

    def __init__(
        self,
        capture: Capture,
        builder: ProgramBuilder,
        outputs: CapturedOutputs,
        arguments: Sequence[Tensor],
    ) -> None:
        """Prepare the backward of one trace. ``arguments``: what the function saw for the tensors
        among its arguments."""
        self._capture = capture
        self._builder = builder
        self._outputs = outputs
        self._arguments = arguments
        self._cotangents: list[Any] = []

    def sources(self) -> dict[int, tuple[str, int]]:
        """Return the source of each placeholder, by its id."""
        return {id(c): ("cotangent", i) for i, c in enumerate(self._cotangents)}

    def trace(self) -> list[Any]:
        """Run the backward from placeholders, and return the gradients of everything outside that
        the outputs depend on."""
        capture, roots = self._capture, self._outputs.roots
        edges = [edge for _, edge in roots]
        boundary = partitioner.boundary_of(edges, capture.first_sequence, self._ends_here)
        for t, _ in roots:
            aval = (tuple(t.shape), t.dtype.numpy)
            self._builder.cotangent_avals.append(jax.ShapeDtypeStruct(*aval))
            with capture.outside():
                self._cotangents.append(jax.numpy.zeros(*aval))
        with partitioner.hooks_left_to_others(boundary):
            gradients = engine.run(
                edges,
                [ConditionalGrad(c, {i: True}) for i, c in enumerate(self._cotangents)],
                retain_graph=True,
                create_graph=False,
                targets=boundary,
                accumulate=False,
                stop_before=capture.first_sequence,
            )
        self._builder.behind = partitioner.behind(edges, capture.first_sequence)
        self._builder.boundary = [self._origin(edge) for edge in boundary]
        flags: list[Any] = []
        self._builder.when = [partial.numbered(partial.when_of(g), flags) for g in gradients]
        arrays = [partial.array_of(g) for g in gradients if g is not None]
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
            self._builder.repeats = True  # the leaf that is given back is the one of the edge
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
                and self._capture.is_rebound(slot)
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
      targets: where the gradients of those lead: ("cotangent", i) or ("boundary", i).
    """

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self.gradients: list[Any] = []
        self.arrived: list[bool] = []
        self.roots: list[int] = []
        self.targets: list[tuple[str, int]] = []
        self._second: list[Any] = []

    def sources(self) -> dict[int, tuple[str, int]]:
        second = {id(c): ("second cotangent", i) for i, c in enumerate(self._second)}
        return {**super().sources(), **second}

    def trace(self) -> list[Any]:
        """Run the backward, recorded, and return the gradients and their own gradients from
        placeholders (see double)."""
        capture = self._capture
        edges = [edge for _, edge in self._outputs.roots]
        boundary = partitioner.boundary_of(edges, capture.first_sequence, self._ends_here)
        incoming = []
        for t, _ in self._outputs.roots:
            with capture.outside():
                self._cotangents.append(jax.numpy.zeros(tuple(t.shape), t.dtype.numpy))
            incoming.append(wrap(self._cotangents[-1]).requires_grad_())
        into = {tape.gradient_edge(c): ("cotangent", i) for i, c in enumerate(incoming)}
        into |= {edge: ("boundary", i) for i, edge in enumerate(boundary)}
        self._builder.boundary = [self._origin(edge) for edge in boundary]
        with partitioner.hooks_left_to_others(boundary):
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
        reached = partitioner.boundary_of(
            list(roots.values()), capture.first_sequence, lambda s: False
        )
        targets = [e for e in into if e in reached]
        self.targets = [into[e] for e in targets]
        self.gradients = [g._read() for g in found]
        for i in roots:
            with capture.outside():
                like = self.gradients[i]
                self._second.append(jax.numpy.zeros(like.shape, like.dtype))
        with partitioner.hooks_left_to_others(targets):
            second = engine.run(
                list(roots.values()),
                self._second,
                retain_graph=True,
                create_graph=False,
                targets=targets,
                accumulate=False,
                stop_before=capture.first_sequence,
            )
        return self.gradients + [partial.array_of(g) for g in second]
