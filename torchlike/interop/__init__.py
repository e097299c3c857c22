"""Interop: torchlike's objects in JAX's own programs."""

from torchlike.interop import pytrees as pytrees
