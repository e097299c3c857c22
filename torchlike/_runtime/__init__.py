"""JAX, XLA and the process as torchlike runs them: caches, flags, contexts, transfers, files.

The lowest room: it imports no other. Begin with ``first_calls/``, which is ``jax.jit`` with NumPy
for the first calls: every op goes through it.
"""
