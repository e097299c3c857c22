"""`CompiledNode` is a jitted call on the tape: its backward is a second executable."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from torchlike._core import errors, modes
from torchlike._core.tape import Edge, Node, saving
from torchlike._extensions import boxes
from torchlike._jit.compile import double
from torchlike._runtime import late_checks
from torchlike.autograd import saved
from torchlike.autograd.partial import arriving, placed, with_flags


class CompiledNode(Node):
    """A whole jitted call as one node of the tape: its backward is a second executable."""

    __slots__ = ("call", "program", "replay", "residuals")

    def __init__(self, program: Any, edges: list[Edge | None], residuals: Any, call: Any) -> None:
        super().__init__("CompiledBackward", edges)
        self.program = program
        #: What the call ran on, for create_graph.
        self.call = call
        self.residuals = residuals
        #: Replaces it by eager operations, where that can be done (fallback/replay.py).
        self.replay: Any = None

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
            given = double.on_boxes(
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
            gradient.words.add(word)
        if len(found) == len(whens) == n and all(c is not None for c in cotangents):
            return found
        conditions = [with_flags(when, found[n:]) for when in whens]
        return arriving(placed(found, whens), conditions, cotangents)

    def run_graph(self, cotangents: list[Any]) -> Any:
        return double.run_graph(self, cotangents)

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
        self.residuals = self.call = self.replay = None


class PackedCompiledNode(CompiledNode):
    """One made under saved-tensor hooks: what the program keeps for backward went through them."""

    __slots__ = ("_hook", "_kept", "_packed")

    def __init__(self, program: Any, edges: list[Edge | None], residuals: Any, call: Any) -> None:
        super().__init__(program, edges, None, None)
        self._hook: Any = saving.hooks[-1][1]
        arrays, self._kept = jax.tree_util.tree_flatten(residuals)
        self._packed: Any = [(saved.Slot(array, None), array.dtype) for array in arrays]

    def run(self, cotangents: list[Any]) -> Any:
        if self._packed is None:
            raise RuntimeError(errors.BACKWARD_TWICE)
        arrays = [self._unpacked(s, dtype) for s, dtype in self._packed]
        self.residuals = jax.tree_util.tree_unflatten(self._kept, arrays)
        try:
            return super().run(cotangents)
        finally:
            self.residuals = None

    def _unpacked(self, slot: saved.Slot, dtype: Any) -> Any:
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
