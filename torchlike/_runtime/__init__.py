"""JAX and XLA as torchlike runs them: caches, flags, contexts, first calls, transfers, settings.

The lowest room: it imports no other."""
