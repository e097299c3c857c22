"""In which order XLA is to run a program: as many of its steps at once as there are threads, or as
few bytes at once as may be."""

from __future__ import annotations

from typing import Any

import jax

from torchlike._runtime import mixed_operands, one_device, targets, x64
from torchlike._runtime.jax_private.compiled_calls import cache_miss, compiled_calls
from torchlike._runtime.jax_private.equations import CHECKPOINTS, LOOPS


def compiled(
    function: Any,
    part: Any,
    donated: tuple[int, ...] = (),
    ranks: Any = None,
    name: str = "",
    drawn: frozenset[int] = frozenset(),
) -> Any:
    """Compile ``part`` (a jaxpr) of the program, which ``function`` computes, by ``jax.jit``. One
    with collectives runs over the ``ranks`` of the capture, and says ``name`` in errors. One with
    checkpointed regions is ordered for memory. ``drawn``: which arguments are random numbers.

    XLA's CPU compiler orders for concurrency, and so begins second runs before anything needs them.
    A GPT step (8 layers, 16×256 tokens, each layer a region): 1,498 MB of temporary memory, 626 in
    this order, in 2.17 and 1.87 s of CPU time (without regions 1,443 and 1,097 MB, 1.79 and 1.76 s;
    `jax.checkpoint` by hand 1,571 and 1,147 MB).

    So are others with barriers, which gradients of linear layers have: a CNN step takes 0.97 of the
    time, a GPT step 0.99. Not where there are loops, which leave a thread to what else there is to
    do (an LSTM step 1.03).
    """
    eqns = part.eqns
    if ranks is not None and ranks.take_part_in(eqns):
        return ranks.compiled(name, function, [v.aval for v in part.outvars], donated, drawn)
    function = x64.requiring(function)
    barriers = [e for e in eqns if e.primitive.name == "optimization_barrier"]
    names = {e.primitive.name for e in eqns}
    has_regions = not names.isdisjoint(CHECKPOINTS) or any(len(e.invars) > 1 for e in barriers)
    has_loops = not names.isdisjoint(LOOPS)
    asks = has_regions or (barriers and not has_loops)
    if not asks or not targets.is_cpu():
        return _looked_at(jax.jit(function, donate_argnums=donated), function, part, drawn)
    return _ForMemory(function, part, donated, drawn)


def _looked_at(jitted: Any, function: Any, part: Any, drawn: frozenset[int]) -> Any:
    """Have ``jitted`` refuse operands of one process beside those of all (`mixed_operands`), and
    return it."""
    if compiled_calls.missing:
        return jitted
    compiled = cache_miss(jitted)

    def miss(*args: Any) -> tuple[Any, ...]:
        if mixed_operands.refuse.is_provided and (mixed_operands.met_in_program(part, args, drawn)):
            return compiled(*args)[0], None, True  # allowed here: asked again
        return one_device.call(compiled, args, is_program=True)

    return compiled_calls.hooked(function, jitted, miss)


class _ForMemory:
    """A compiled function ordered for memory."""

    def __init__(
        self, function: Any, part: Any, donated: tuple[int, ...], drawn: frozenset[int]
    ) -> None:
        ordered = jax.jit(
            function,
            donate_argnums=donated,
            compiler_options={"xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"},
        )
        self._ordered = _looked_at(ordered, function, part, drawn)
        self._within = jax.jit(function, donate_argnums=donated)
        self.lower, self.trace = self._ordered.lower, self._ordered.trace

    def __call__(self, *args: Any) -> Any:
        try:
            return self._ordered(*args)
        except ValueError:  # within a trace of JAX's own, which takes no options
            return self._within(*args)
