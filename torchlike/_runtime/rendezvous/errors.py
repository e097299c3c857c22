"""What goes wrong between processes, as PyTorch names it."""

from __future__ import annotations


class DistError(RuntimeError):
    """Something went wrong between processes."""


class DistBackendError(DistError):
    """In a backend."""


class DistNetworkError(DistError):
    """In the network."""


class DistStoreError(DistError):
    """In a store."""


class QueueEmptyError(DistStoreError):
    """A queue has nothing to give."""
