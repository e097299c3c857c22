"""``torch_xla.distributed.parallel_loader``, usually ``pl``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchlike._core.tensor import Tensor
from torchlike._core.trees import flatten, unflatten
from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.distributed.parallel_loader")


class MpDeviceLoader:
    """A loader whose batches are on a device."""

    def __init__(self, loader: Any, device: Any, **_: Any) -> None:
        self._loader, self._device = loader, device

    def __iter__(self) -> Iterator[Any]:
        for batch in self._loader:
            leaves, structure = flatten(batch)
            yield unflatten(
                structure, [x.to(self._device) if isinstance(x, Tensor) else x for x in leaves]
            )

    def __len__(self) -> int:
        return len(self._loader)


class ParallelLoader:
    """Loaders for devices; ``per_device_loader`` gives one's."""

    def __init__(self, loader: Any, devices: Any, **_: Any) -> None:
        self._loader = loader

    def per_device_loader(self, device: Any) -> MpDeviceLoader:
        """The batches of a device."""
        return MpDeviceLoader(self._loader, device)
