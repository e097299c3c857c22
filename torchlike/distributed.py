"""``torch.distributed``: not available, in the words scripts ask for it.

``is_available()`` is False, so code that asks first goes on in one process. One process with many
devices is JAX's way: jax.sharding.
"""

from __future__ import annotations

from typing import Any

from torchlike import unsupported


def is_available() -> Any:
    """False."""
    return False


def is_initialized() -> Any:
    """False."""
    return False


globals().update(unsupported.functions("distributed"))
