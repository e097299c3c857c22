"""``torch.utils._foreach_utils``: what optimizers ask before they use ``torch._foreach_*``."""

from __future__ import annotations

from collections.abc import Sequence

from torchlike._core.devices import device as Device
from torchlike._core.dtypes import dtype as Dtype
from torchlike.tensor import Tensor

__all__ = [
    "_device_has_foreach_support",
    "_foreach_supported_types",
    "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices",
    "_group_tensors_by_device_and_dtype",
    "_has_foreach_support",
]

_Lists = list[list[Tensor | None]]
#: The classes of tensors that lists may have.
_foreach_supported_types = [Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the devices on which lists of tensors are the faster way: none."""
    return []


def _get_fused_kernels_supported_devices() -> list[str]:
    """Return the devices with a choice of a step for a whole list of parameters: none, for all
    steps are such."""
    return []


def _device_has_foreach_support(device: Device) -> bool:
    """True: ``torch._foreach_*`` work everywhere."""
    return True


def _has_foreach_support(tensors: Sequence[Tensor | None], device: Device) -> bool:
    """Return whether ``torch._foreach_*`` take these tensors."""
    return all(t is None or isinstance(t, Tensor) for t in tensors)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Device, Dtype], tuple[_Lists, list[int]]]:
    """Group the columns of equally long (or empty) lists by device and dtype of the first list.

    Gives (device, dtype) -> (the lists, the columns' numbers if asked for). RuntimeError for lists
    of other lengths, or a first list that has no tensor at some place.
    """
    first = tensorlistlist[0]
    if any(len(column) not in (0, len(first)) for column in tensorlistlist):
        raise RuntimeError(
            f"lists of tensors must be as long as the first ({len(first)}) or empty, got "
            f"{[len(column) for column in tensorlistlist]}"
        )
    groups: dict[tuple[Device, Dtype], tuple[_Lists, list[int]]] = {}
    for i, t in enumerate(first):
        if t is None:
            raise RuntimeError(
                "Tensors of the first list of nested Tensor lists are supposed to be defined but "
                f"the {i}-th Tensor is not."
            )
        lists, indices = groups.setdefault((t.device, t.dtype), ([[] for _ in tensorlistlist], []))
        for grouped, column in zip(lists, tensorlistlist, strict=True):
            if column:
                grouped.append(column[i])
        if with_indices:
            indices.append(i)
    return groups
