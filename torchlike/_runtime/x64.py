"""JAX's 64-bit types: on for the whole process from torchlike's import.

PyTorch's integers are 64-bit by default, so importing torchlike turns on ``jax_enable_x64``;
nothing else in the package may touch that switch. JAX code of the user's that wants 32-bit defaults
says ``with jax.enable_x64(False):``. Inside, what torchlike compiles or makes refuses by
``require``: JAX compiles anew there, so the refusal stands in what is traced and costs a call
nothing.

Not built: the switch on around torchlike's own calls alone. It was tried, and goes far; but JAX's
functions cut the 64-bit arrays that tensors hand out, with no more than a warning
(docs/design/semantics.md has the experiment). Nor is JAX's ``jax_explicit_x64_dtypes`` enough:
a number beside a float64 array is rounded to float32, and an int of more than 32 bits overflows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from torchlike._runtime.frames import IMPORT_SYSTEM, users_frame, warn_at
from torchlike._runtime.jax_private import backends
from torchlike._runtime.patches import at_import

_config: Any = jax.config  # which has attributes that are not declared
#: What lies between the line that imports torchlike and here.
_BETWEEN = IMPORT_SYSTEM | {"torchlike"}

WORDS = (
    "JAX was in use before torchlike was imported, which turns on JAX's 64-bit types for the whole "
    "process, as PyTorch's integers need them: jnp.ones(3) is float64 from now on, jnp.arange(3) "
    "int64, and functions of jax.jit compile again. JAX code that wants 32-bit defaults says `with "
    "jax.enable_x64(False):`. Import torchlike first, or set JAX_ENABLE_X64=1, and all is quiet."
)


def enable() -> None:
    """Turn 64-bit types on. Where JAX computed before, warn at the line that imports torchlike."""
    if not _config.jax_enable_x64:
        if backends.started():
            warn_at(users_frame(beneath=_BETWEEN), WORDS, UserWarning)
        at_import.X64.set_option(_config, "jax_enable_x64", True)


def require() -> None:
    """Raise RuntimeError where 64-bit types are off: JAX would give 32 bits instead."""
    if not _config.jax_enable_x64:
        raise RuntimeError(
            "torchlike needs JAX's 64-bit types, which are off here (jax.enable_x64(False), or "
            "jax_enable_x64 was set to False after torchlike was imported). Leave that region for "
            "torchlike's calls, or make them inside `with jax.enable_x64(True):`."
        )


def requiring(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate ``function``, for ``jax.jit``, to ``require`` 64-bit types when it is traced."""

    @functools.wraps(function)
    def traced(*args: Any) -> Any:
        require()
        return function(*args)

    return traced
