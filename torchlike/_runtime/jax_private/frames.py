"""Functions of JAX's by the names that their frames have, between the user's line and ours."""

from __future__ import annotations

from torchlike._runtime.jax_private.names import declare

NAMES_OF_FRAMES = declare(
    "frames of jax.grad, jax.vmap, typeof and kin",
    "who took a tensor for an array: what differentiates it, or what wants its type alone",
    "a warning about a gradient that is cut, or JAX's own words",
)

#: Functions that differentiate what they call.
DIFFERENTIATING = frozenset(
    ("grad", "value_and_grad", "jvp", "vjp", "linearize", "jacfwd", "jacrev", "hessian")
)
#: Functions that map what they call over examples.
MAPPING = frozenset(("vmap",))
#: Functions that give the type of an array, and take nothing else.
ABSTRACTING = frozenset(("canonicalize_value", "shaped_abstractify", "typeof"))
