"""JAX's cache of compiled programs on disk."""

from __future__ import annotations

from typing import Any

from torchlike._runtime.jax_private.names import declare

CACHE = declare(
    "jax._src.lru_cache.LRUCache",
    "the class of JAX's cache in files, whose get and put we replace",
    "JAX's own cache is used: entries may be torn by a process that is killed",
)
USED = declare(
    "jax._src.compilation_cache.LRUCache",
    "where JAX takes that class from",
    "JAX's own cache is used: entries may be torn by a process that is killed",
)


class _NoCache:
    """Stands for JAX's class where there is none: it is never made."""

    path, eviction_enabled = "", False

    def __init__(self, path: str, **options: Any) -> None:
        self.path = path

    def get(self, key: str) -> bytes | None:
        return None

    def put(self, key: str, value: bytes) -> None:
        """Keep nothing."""


LRUCache: Any = CACHE.find(lambda: _NoCache)
