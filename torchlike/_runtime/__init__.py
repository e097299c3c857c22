"""JAX, XLA and the process as torchlike runs them: caches, flags, contexts, transfers, files.

The lowest room: it imports no other. Begin with ``first_calls/``, which is ``jax.jit`` with NumPy
for the first calls: every op goes through it. ``jax_private/`` has what JAX promises to nobody,
``patches/`` what the import changes in the process, ``provided.py`` what rooms below ask of those
above, ``running_capture.py`` what is reported to a capture, ``logs.py`` TORCHLIKE_LOGS;
``rolling/`` makes scans of unrolled loops, ``rendezvous/`` and ``launching/`` are for processes
that compute together. docs/design/rooms.md has a line for each file.
"""
