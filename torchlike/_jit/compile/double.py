"""Double backward through a jitted call, for ``create_graph``.

The joint graph of a jitted function has the tape's meaning, but no tape. When a gradient is asked
for with ``create_graph``, the body is therefore traced once more, on the arrays that the call had,
with a backward that is itself recorded; that trace is cut in two as the first was. Its forward
gives the gradients, its backward their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import errors, modes
from torchlike._core.tape import gradient_edge
from torchlike._dispatch.executable import Executable
from torchlike._extensions import boxes
from torchlike._jit.capture.slots import Slot
from torchlike._jit.compile import partitioner
from torchlike._jit.compile.output_templates import Template
from torchlike._jit.compile.scheduling import compiled
from torchlike._jit.control_flow.subgraph import SubgraphNode, filled
from torchlike.autograd.partial import placed
from torchlike.tensor import wrap


class Double:
    """The compiled gradient of one program, and its own gradient."""

    def __init__(self, run: Any, backward: Any, closed: Any) -> None:
        """Compile the gradient and its own gradient. ``backward``: the `RecordedBackward` of the
        trace ``run``."""
        sources = run.sources()
        self.inputs: list[Any] = []
        variables, constants, bound = [], [], []
        cotangents: dict[int, Any] = {}
        for var, const in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            kind, what = sources.get(id(const), ("constant", const))
            if kind == "second cotangent":
                cotangents[what] = var
            elif kind == "constant":
                constants.append(var)
                bound.append(what)
            else:
                variables.append(var)
                self.inputs.append(source_key((kind, what)))
        n = len(backward.gradients)
        split = partitioner.partition(
            closed.jaxpr, n, variables, constants, cotangents, len(backward.roots)
        )
        self.n = n
        #: Which gradients depend on what requires grad, and where theirs lead.
        self.roots = backward.roots
        self.targets = backward.targets
        self.boundary = run.builder.boundary
        self.arrived = backward.arrived
        ranks, name = run.capture.ranks, f"gradient of {run.capture.name}"
        if ranks is not None:
            bound = [np.asarray(x) for x in bound]
        evaluate = partitioner.evaluator(split.forward, bound)
        self.forward = compiled(evaluate, split.forward, (), ranks, name)
        self.residual_inputs = split.residual_inputs
        #: `forward` and `backward` under a transform, once one asked for them.
        self.batched: dict[str, Executable] = {}
        self.backward = None
        if split.backward is not None:
            evaluate = partitioner.backward_evaluator(split, bound)
            self.backward = compiled(
                evaluate, split.backward[0], (), ranks, f"backward of the {name}"
            )

    def __call__(
        self, given: dict[Any, Any], edges: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """Compute the gradients as tensors on the tape. ``given``: the call's inputs by source."""
        values = [t._read() for t in cotangents]
        arrays = [values[key[1]] if key[0] == "cotangent" else given[key] for key in self.inputs]
        # A Jacobian by vmap hands in boxes: a cotangent for each example.
        boxed = boxes.top(values) is not None
        outputs = (
            on_boxes(self, self.forward, arrays, "forward") if boxed else self.forward(*arrays)
        )
        gradients = [wrap(a) for a in outputs[: self.n]]
        leading = [
            gradient_edge(cotangents[i]) if kind == "cotangent" else edges[i]
            for kind, i in self.targets
        ]
        if self.backward is None or not modes.current.grad_enabled or not any(leading):
            return placed(gradients, self.arrived)
        residuals = tuple(outputs[self.n :]), tuple(arrays[i] for i in self.residual_inputs)
        backward, of_roots = self.backward, [outputs[i] for i in self.roots]

        def run(arrived: list[Any]) -> Any:
            if boxed:
                raise NotImplementedError(
                    "a second derivative through a jitted function whose gradient vmap took "
                    "(jacrev of jacrev) is not supported: call the function eagerly there"
                )
            given = tuple(filled(arrived, of_roots))
            if modes.current.levels and boxes.top(given) is not None:
                flat, structure = jax.tree_util.tree_flatten((residuals, given))
                return on_boxes(
                    self,
                    lambda *a: backward(*jax.tree_util.tree_unflatten(structure, a)),
                    flat,
                    "backward",
                )
            return backward(residuals, given)

        node = SubgraphNode("CompiledBackwardBackward", leading, len(self.roots), run)
        for nr, i in enumerate(self.roots):
            # In a box, what outlives the transform is the tensor inside.
            t = boxes.innermost(gradients[i]) if boxed else gradients[i]
            t._node, t._output_nr, t._requires_grad = node, nr, True
        return placed(gradients, self.arrived)


def on_boxes(
    owner: Any, function: Callable[..., Any], arrays: Sequence[Any], which: str
) -> Sequence[Any]:
    """Run a compiled function where some of the arrays are boxes; ``owner`` keeps it transformed,
    under a name."""
    if which not in owner.batched:
        owner.batched[which] = Executable(
            "CompiledBackward", lambda *a: tuple(function(*a)), 0, len(arrays)
        )
    level = boxes.top(arrays)
    assert level is not None
    found = level.apply(owner.batched[which], list(arrays))
    return found if isinstance(found, (tuple, list)) else (found,)


def source_key(source: tuple[str, Any]) -> tuple[Any, ...]:
    """Return a key by which a source can be matched in two traces of one function."""
    kind, what = source
    if kind == "slot":
        return kind, id(what.owner) if what.argument < 0 else what.argument, what.name
    return kind, id(what) if kind == "fixed" else what


def run_graph(node: Any, cotangents: Sequence[Any]) -> Sequence[Any]:
    """Run the backward of a node recorded: ``CompiledNode.run_graph``."""
    if node.residuals is None:
        raise RuntimeError(errors.BACKWARD_TWICE)
    program, call = node.program, node.call
    if program.inputs.donated or program.retrace is None:
        raise NotImplementedError(
            "create_graph through a jitted function that also writes to tensors in place is not "
            "supported: its inputs are gone. Call it eagerly, or compute the inner gradient inside"
        )
    if program.state.double is None:
        if not program.guards.check(call.arguments):
            raise RuntimeError(
                "create_graph through a jitted function traces it once more, and something that it "
                "read has changed since the call: take the gradient before the change"
            )
        program.state.double = program.retrace(call)
        if _comparable(program.state.double.boundary) != _comparable(program.gradient.boundary):
            raise errors.InternalError("two traces of one function differ in what they depend on")
    keys = [source_key(s) for s in program.inputs.sources]
    given = dict(zip(keys, call.arrays, strict=True))
    full = [
        wrap(jnp.zeros(a.shape, a.dtype)) if c is None else c
        for c, a in zip(cotangents, program.gradient.cotangent_avals, strict=True)
    ]
    return program.state.double(given, node.edges, full)


def _comparable(boundary: Sequence[Any]) -> list[Any]:
    """Return a boundary in which slots and templates, objects of their own in each trace, are told
    by what they are."""
    return [
        (id(b.owner), b.name) if isinstance(b, Slot) else b.output if isinstance(b, Template) else b
        for b in boundary
    ]
