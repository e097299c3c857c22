"""``torch_xla.distributed.parallel_loader``, usually ``pl``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchlike._runtime.trees import flatten, unflatten
from torchlike.porting.torch_xla._absent import absent
from torchlike.tensor import Tensor

__getattr__ = absent("torch_xla.distributed.parallel_loader")


class MpDeviceLoader:
    """A loader whose batches are on a device, and sharded where ``input_sharding`` says how: a
    `spmd.ShardingSpec` for all tensors of its dimensions, or one by the name of a batch's entry.

    ValueError where ``input_sharding`` names an entry that a batch does not have.
    """

    def __init__(self, loader: Any, device: Any, input_sharding: Any = None, **_: Any) -> None:
        self._loader, self._device = loader, device
        self._sharding = input_sharding

    def __iter__(self) -> Iterator[Any]:
        for batch in self._loader:
            leaves, structure = flatten(batch)
            found = unflatten(
                structure, [x.to(self._device) if isinstance(x, Tensor) else x for x in leaves]
            )
            self._shard(found)
            yield found

    def _shard(self, batch: Any) -> None:
        if isinstance(self._sharding, Mapping):
            if absent_ones := [name for name in self._sharding if name not in batch]:
                raise ValueError(f"input_sharding names {absent_ones}, which the batch has not")
            for name, spec in self._sharding.items():
                if spec is not None:
                    _apply(spec, batch[name])
        elif self._sharding is not None:
            _apply(self._sharding, batch)

    def __len__(self) -> int:
        return len(self._loader)


def _apply(spec: Any, batch: Any) -> None:
    for t in flatten(batch)[0]:
        if isinstance(t, Tensor) and spec.can_apply(t):
            spec.apply(t)


class ParallelLoader:
    """Loaders for devices; ``per_device_loader`` gives one's."""

    def __init__(self, loader: Any, devices: Any, **_: Any) -> None:
        self._loader = loader

    def per_device_loader(self, device: Any) -> MpDeviceLoader:
        """Return the batches of a device."""
        return MpDeviceLoader(self._loader, device)
