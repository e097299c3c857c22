"""``torch.backends.cuda.cufft_plan_cache``: XLA keeps its own plans, so there are none to see."""

from __future__ import annotations

from typing import Any

from torchlike import cuda as _cuda
from torchlike._core import devices


class cuFFTPlanCache:
    """The plans of one device: how many may be kept is remembered, none are."""

    def __init__(self, device_index: int) -> None:
        self.device_index = device_index
        self.max_size = 4096

    @property
    def size(self) -> int:
        """0."""
        return 0

    @size.setter
    def size(self, value: Any) -> None:
        raise RuntimeError(
            ".size is a read-only property showing the number of plans currently in the cache. To "
            "change the cache capacity, set cufft_plan_cache.max_size."
        )

    def clear(self) -> None:
        """Do nothing: there is nothing to forget."""


class cuFFTPlanCacheManager:
    """The caches by device; asked itself, that of the current one. Without a GPU AssertionError,
    and RuntimeError for any index, as in PyTorch without CUDA."""

    _caches: dict[int, cuFFTPlanCache]

    def __init__(self) -> None:
        object.__setattr__(self, "_caches", {})

    def __getitem__(self, device: Any) -> cuFFTPlanCache:
        index = device if isinstance(device, int) else (devices.device(device).index or 0)
        n = _cuda.device_count()
        if not 0 <= index < n:
            raise RuntimeError(
                f"cufft_plan_cache: expected 0 <= device index < {n}, but got device with index "
                f"{index}"
            )
        return self._caches.setdefault(index, cuFFTPlanCache(index))

    def __getattr__(self, name: str) -> Any:
        return getattr(self[_cuda.current_device()], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self[_cuda.current_device()], name, value)
