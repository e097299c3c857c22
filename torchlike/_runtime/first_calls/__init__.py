"""The first calls of a compiled form: NumPy evaluates its jaxpr until compiling it pays.

XLA needs 15 to 450 ms to compile an operation for a new shape; PyTorch computes it in microseconds.
``first_calls.jit`` is ``jax.jit`` but for that: a signature that it does not know is traced, and
its jaxpr is evaluated by a NumPy rule for each lax primitive. Once the signature has been called
so often that compiling it would have been worth it (``cost``), it is compiled, and later calls
never come here again. No operation has a second definition.

The room: ``jit`` (the drop-in for ``jax.jit``), ``tracing`` (a jaxpr, quickly), ``interpreter`` (a
jaxpr as a function of NumPy arrays), ``rules/`` (one family of primitives a file), ``cost`` (when
compiling pays), ``settings``, ``statistics`` (what ran where), ``internals`` (the private names of
JAX that all this needs).
"""

from torchlike._runtime.first_calls.cost import (
    COMPILING_SMALL,
    COMPILING_WHOLE,
    CallCost,
    Compiling,
    SharedBlocksCost,
    WholeProgram,
    is_brief,
    loading,
    of_call,
    shared_blocks,
    whole_program,
)
from torchlike._runtime.first_calls.families import FormTemplate
from torchlike._runtime.first_calls.jit import (
    DECLINED,
    CompiledForm,
    FirstCalls,
    call,
    defer,
    jit,
    meets_accelerator,
    put_off,
    takes,
)
from torchlike._runtime.first_calls.settings import by_numpy, settling, thread
from torchlike._runtime.first_calls.whole_programs import by_numpy_where_dear

__all__ = [
    "COMPILING_SMALL",
    "COMPILING_WHOLE",
    "DECLINED",
    "CallCost",
    "CompiledForm",
    "Compiling",
    "FirstCalls",
    "FormTemplate",
    "SharedBlocksCost",
    "WholeProgram",
    "by_numpy",
    "by_numpy_where_dear",
    "call",
    "defer",
    "is_brief",
    "jit",
    "loading",
    "meets_accelerator",
    "of_call",
    "put_off",
    "settling",
    "shared_blocks",
    "takes",
    "thread",
    "whole_program",
]
