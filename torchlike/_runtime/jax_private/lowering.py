"""How JAX makes MLIR of a jaxpr."""

from __future__ import annotations

from typing import Any

from torchlike._runtime.jax_private.names import declare

MAKE_CONTEXT = declare(
    "jax._src.interpreters.mlir.make_ir_context",
    "one MLIR context for many lowerings, and one to read StableHLO of a file",
    "each lowering makes one, 3 ms each",
)
LOWER = declare(
    "jax._src.interpreters.mlir.lower_jaxpr_to_module",
    "programs are guarded against NaNs that XLA's CPU compiler knows",
    "NaNs are not guarded",
)


def make_context() -> Any:
    """Make an MLIR context, or return this thread's. NotImplementedError where JAX has no way."""
    return MAKE_CONTEXT.require()()
