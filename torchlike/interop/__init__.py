"""Interop: torchlike's objects in JAX's own programs, and JAX's functions in torchlike's."""

from torchlike.interop import modules as modules
from torchlike.interop import pytrees as pytrees
from torchlike.interop.functions import from_jax_function

__all__ = ["from_jax_function"]
