"""`SharedBlocks` runs a program as a sequence of blocks, of which equal ones share executables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax

from torchlike._runtime import interrupts
from torchlike._runtime.blocks.plan import UNUSED, BlockPlace, BlockPlan, ProgramBlock
from torchlike._runtime.jax_private.jaxprs import is_literal
from torchlike._runtime.jaxprs import placeholder, sharding_of
from torchlike._runtime.rolling.writing import written

#: Compiles a block (by ``jax.jit``), which errors call by a name.
CompileBlock = Callable[[ProgramBlock, str], Any]


class SharedBlocks:
    """The blocks of one program, compiled, and their runs.

    Attributes:
      plan: which there are.
    """

    def __init__(
        self, plan: BlockPlan, bound: Sequence[Any], name: str, compile_block: CompileBlock
    ) -> None:
        """``bound`` are the program's leading inputs, the same at each call."""
        self.plan = plan
        self._calls = [compile_block(b, f"{name}, block {i}") for i, b in enumerate(plan.blocks)]
        self._bound = [x if isinstance(x, jax.Array) else jax.device_put(x) for x in bound]
        self._literals = {i: v for i, v in enumerate(plan.outputs) if is_literal(v)}

    def compile(self, arguments: Sequence[Any]) -> None:
        """Compile each block, for a call with these arguments (`jaxprs.placeholder`)."""
        values = self._values(map(placeholder, self._bound), arguments)
        done = set()
        for place in self.plan.places:
            given = [values[i] for i in place.inputs]
            where = next((s for x in given if (s := sharding_of(x))), None)
            for i in place.outputs:
                values[i] = None if i == UNUSED else _made(self.plan.avals[i], where)
            signature = place.block, tuple(map(_signature, given))
            if signature not in done:
                done.add(signature)
                self._calls[place.block].lower(*given).compile()

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """Run all blocks. Arrays that no later block needs are given up at once."""
        values = self._values(self._bound, arguments)
        with interrupts.put_off():  # what was given up is nowhere, until outputs are delivered
            for place in self.plan.places:
                self._run(place, values)
        outputs = [None if is_literal(v) else values[v] for v in self.plan.outputs]
        for i, literal in self._literals.items():
            outputs[i] = written(literal)
        return outputs

    def _values(self, bound: Iterable[Any], arguments: Sequence[Any]) -> list[Any]:
        """Return a list with a place for each value of the plan, and the last one for `UNUSED`."""
        values = [*bound, *arguments]
        return values + [None] * (len(self.plan.avals) + 1 - len(values))

    def _run(self, place: BlockPlace, values: list[Any]) -> None:
        found = self._calls[place.block](*[values[i] for i in place.inputs])
        for i, array in zip(place.outputs, found, strict=True):
            values[i] = array
        for i in place.dead:
            values[i] = None


def _made(aval: Any, sharding: Any) -> Any:
    """Return the placeholder of what a block gives."""
    return jax.ShapeDtypeStruct(
        aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False), sharding=sharding
    )


def _signature(x: Any) -> Any:
    if isinstance(x, jax.ShapeDtypeStruct):
        return x.shape, x.dtype, x.weak_type, x.sharding
    return type(x)
