"""Batches of a loader, laid out on the devices of a mesh before they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from torchlike._runtime.trees import flatten, unflatten
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.tensor import DTensor
from torchlike.distributed.tensor._specs import checked, equally_cut
from torchlike.distributed.tensor.placement_types import Placement, Replicate, Shard
from torchlike.tensor import Tensor

T = TypeVar("T")


class ShardedLoader(Generic[T]):
    """The batches of a loader with their tensors as DTensors on a mesh.

    A batch is what this process loads: all rows of it where all devices of the mesh are this
    process' own; else its part of the rows of all processes, as with a `DistributedSampler`. Not
    in PyTorch; ``MpDeviceLoader`` is torch_xla's.

    Args:
        loader: a `DataLoader`, or anything that gives batches: tensors, nested in tuples, lists and
            dictionaries. What is no tensor, and tensors of no dimension, come as they are.
        device_mesh: where batches lie.
        placements: of every tensor; by default rows are cut along the mesh's first dimension, and
            replicated along the others.
        prefetch: how many batches are on their way to the devices while one is worked on.

    Raises:
        ValueError: ``prefetch`` below 0; as batches come, rows that the devices do not divide.

    Example:
      >>> mesh = torch.distributed.device_mesh.DeviceMesh("cpu", [0])
      >>> loader = torch.utils.data.DataLoader(torch.arange(4.0), batch_size=2)
      >>> for batch in torchlike.distributed.ShardedLoader(loader, mesh):
      ...     print(batch.full_tensor())
      tensor([0., 1.])
      tensor([2., 3.])
    """

    def __init__(
        self,
        loader: Iterable[T],
        device_mesh: DeviceMesh,
        placements: Sequence[Placement] | None = None,
        *,
        prefetch: int = 2,
    ) -> None:
        if prefetch < 0:
            raise ValueError(f"prefetch={prefetch}: how many batches may not be negative")
        self.loader = loader
        self.device_mesh = device_mesh
        self.placements = tuple(placements or (Shard(0), *[Replicate()] * (device_mesh.ndim - 1)))
        self.prefetch = prefetch

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[T]:
        ahead: deque[T] = deque()
        for batch in self.loader:
            ahead.append(self._placed(batch))
            if len(ahead) > self.prefetch:
                yield ahead.popleft()
        yield from ahead

    def _placed(self, batch: T) -> T:
        leaves, structure = flatten(batch)
        return unflatten(structure, [self._placed_leaf(leaf) for leaf in leaves])

    def _placed_leaf(self, leaf: Any) -> Any:
        if not isinstance(leaf, Tensor) or not leaf.dim():
            return leaf
        mesh, wanted = self.device_mesh, checked(self.placements, self.device_mesh, leaf.dim())
        try:
            if mesh.is_local:  # what is whole in each device's memory would be slow, and not seen
                equally_cut(wanted, mesh, tuple(leaf.shape))
            return DTensor.from_local(leaf, self.device_mesh, self.placements)
        except ValueError as error:
            error.add_note(
                "The batch comes from a loader: a batch_size that the devices divide, and "
                "drop_last=True, make all its batches so."
            )
            raise
