"""Interop: torchlike's objects in JAX's own programs, and JAX's functions in torchlike's."""

from torchlike.interop import modules as modules
from torchlike.interop import pytrees as pytrees
from torchlike.interop.functions import from_jax_function
from torchlike.interop.pytrees import arrays
from torchlike.interop.to_jax import to_jax_function

__all__ = ["arrays", "from_jax_function", "to_jax_function"]
