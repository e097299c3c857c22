"""`CompiledNode`, a jitted call on the tape, and the gradient of its gradient.

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
from torchlike._core.dispatch.executable import Executable
from torchlike._core.tape import Edge, Node, gradient_edge, saving
from torchlike._extensions import boxes
from torchlike._jit.guards.sources import CotangentInput, SecondCotangent, Slot
from torchlike._jit.trace.backward import backward_evaluator, evaluator, partition
from torchlike._jit.trace.outputs import Template
from torchlike._jit.trace.subgraph import SubgraphNode, filled
from torchlike._runtime import late_checks
from torchlike._runtime.scheduling import compiled
from torchlike.autograd import saved
from torchlike.autograd.conditional_grad import arriving, placed, with_flags
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
            source = sources.get(id(const))
            if source is None:
                constants.append(var)
                bound.append(const)
            elif isinstance(source, SecondCotangent):
                cotangents[source.index] = var
            else:
                variables.append(var)
                self.inputs.append(source.across_traces())
        n = len(backward.gradients)
        split = partition(closed.jaxpr, n, variables, constants, cotangents, len(backward.roots))
        self.n = n
        #: Which gradients depend on what requires grad, and where theirs lead.
        self.roots = backward.roots
        self.targets = backward.targets
        self.boundary = run.results.boundary
        self.arrived = backward.arrived
        ranks, name = run.capture.ranks, f"gradient of {run.capture.name}"
        if ranks is not None:
            bound = [np.asarray(x) for x in bound]
        evaluate = evaluator(split.forward, bound)
        self.forward = compiled(evaluate, split.forward, (), ranks, name)
        self.residual_inputs = split.residual_inputs
        #: `forward` and `backward` under a transform, once one asked for them.
        self.batched: dict[str, Executable] = {}
        self.backward = None
        if split.backward is not None:
            evaluate = backward_evaluator(split, bound)
            self.backward = compiled(
                evaluate, split.backward[0], (), ranks, f"backward of the {name}"
            )

    def __call__(
        self, inputs: dict[Any, Any], edges: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """Compute the gradients as tensors on the tape. ``inputs``: the call's inputs by source."""
        values = [t._read() for t in cotangents]
        arrays = [
            values[key.index] if type(key) is CotangentInput else inputs[key] for key in self.inputs
        ]
        # A Jacobian by vmap hands in boxes: a cotangent for each example.
        boxed = boxes.top(values) is not None
        outputs = (
            on_boxes(self, self.forward, arrays, "forward") if boxed else self.forward(*arrays)
        )
        gradients = [wrap(a) for a in outputs[: self.n]]
        leading = [
            edges[to] if isinstance(to, int) else gradient_edge(cotangents[to.index])
            for to in self.targets
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
    keys = [source.across_traces() for source in program.inputs.sources]
    inputs = dict(zip(keys, call.arrays, strict=True))
    full = [
        wrap(jnp.zeros(a.shape, a.dtype)) if c is None else c
        for c, a in zip(cotangents, program.gradient.cotangent_avals, strict=True)
    ]
    return program.state.double(inputs, node.edges, full)


def _comparable(boundary: Sequence[Any]) -> list[Any]:
    """Return a boundary in which slots and templates, objects of their own in each trace, are told
    by what they are."""
    return [
        (id(b.owner), b.name) if isinstance(b, Slot) else b.output if isinstance(b, Template) else b
        for b in boundary
    ]


# -------------------------------------------------------------------------------------------------
# `CompiledNode` is a jitted call on the tape: its backward is a second executable.


class CompiledNode(Node):
    """A whole jitted call as one node of the tape: its backward is a second executable."""

    __slots__ = ("call", "program", "residuals")

    def __init__(self, program: Any, edges: list[Edge | None], residuals: Any, call: Any) -> None:
        super().__init__("CompiledBackward", edges)
        self.program = program
        #: What the call ran on, for create_graph.
        self.call = call
        self.residuals = residuals

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.program.gradient.cotangent_avals)

    def run(self, cotangents: list[Any]) -> Any:
        if self.residuals is None:
            raise RuntimeError(errors.BACKWARD_TWICE)
        filled = [
            jnp.zeros(a.shape, a.dtype) if c is None else c
            for c, a in zip(cotangents, self.program.gradient.cotangent_avals, strict=True)
        ]
        whens = self.program.gradient.when
        n = sum(map(bool, whens))
        # A Jacobian by vmap: a cotangent for each example.
        if modes.current.levels and boxes.top(filled) is not None:
            flat, structure = jax.tree_util.tree_flatten((self.residuals, tuple(filled)))
            backward = self.program.gradient.executable
            given = on_boxes(
                self.program.state,
                lambda *a: backward(*jax.tree_util.tree_unflatten(structure, a)),
                flat,
                "backward",
            )
            return placed(given[: len(given) - (self.program.gradient.words is not None)], whens)
        gradient = self.program.gradient
        late_checks.settle()
        found = gradient.executable(self.residuals, tuple(filled))
        if gradient.words is not None:
            *found, word = found
            gradient.words.read(word)  # before anything of it reaches a `.grad`
        if len(found) == len(whens) == n and all(c is not None for c in cotangents):
            return found
        conditions = [with_flags(when, found[n:]) for when in whens]
        return arriving(placed(found, whens), conditions, cotangents)

    def run_graph(self, cotangents: list[Any]) -> Any:
        return run_graph(self, cotangents)

    def check_whole(self, output_nr: int, cotangents: list[Any]) -> None:
        behind = self.program.gradient.behind[output_nr]
        if behind and any(c is not None and behind >> i & 1 for i, c in enumerate(cotangents)):
            raise NotImplementedError(
                "the gradient of one result of a jitted function (asked for by autograd.grad, "
                "retain_grad() or a hook) arrives in part through another result, which was "
                "computed from it: inside the compiled program. Compute the second from the first "
                "outside, ask inside, or call the function eagerly"
            )

    def release(self) -> None:
        self.residuals = self.call = None


class PackedCompiledNode(CompiledNode):
    """One made under saved-tensor hooks: what the program keeps for backward went through them."""

    __slots__ = ("_hook", "_kept", "_packed")

    def __init__(self, program: Any, edges: list[Edge | None], residuals: Any, call: Any) -> None:
        super().__init__(program, edges, None, None)
        self._hook: Any = saving.hooks[-1][1]
        arrays, self._kept = jax.tree_util.tree_flatten(residuals)
        self._packed: Any = [(saved.SavedSlot(array, None), array.dtype) for array in arrays]

    def run(self, cotangents: list[Any]) -> Any:
        if self._packed is None:
            raise RuntimeError(errors.BACKWARD_TWICE)
        arrays = [self._unpacked(s, dtype) for s, dtype in self._packed]
        self.residuals = jax.tree_util.tree_unflatten(self._kept, arrays)
        try:
            return super().run(cotangents)
        finally:
            self.residuals = None

    def _unpacked(self, slot: saved.SavedSlot, dtype: Any) -> Any:
        array = saved.unpack(self._hook, slot.packed, slot.shape)._read()
        if array.dtype != dtype:
            raise RuntimeError(
                f"Output of saved tensor unpack_hook has dtype {array.dtype}, but what was packed "
                f"had dtype {dtype}, for which the jitted function's backward is compiled"
            )
        return array

    def run_graph(self, cotangents: list[Any]) -> Any:
        raise NotImplementedError(
            "create_graph through a jitted call that was made under saved_tensors_hooks is not "
            "supported: call the function eagerly there, or use the hooks inside it"
        )

    def release(self) -> None:
        super().release()
        self._packed = self._hook = None


def node_of_call(program: Any, edges: list[Edge | None], residuals: Any, call: Any) -> CompiledNode:
    """Make the node of a call, of the kind that the thread's hooks ask for."""
    kind = PackedCompiledNode if saving.hooks else CompiledNode
    return kind(program, edges, residuals, call)
