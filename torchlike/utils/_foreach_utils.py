"""``torch.utils._foreach_utils``: what optimizers ask before they use ``torch._foreach_*``."""

from __future__ import annotations

from collections.abc import Sequence

from torchlike._core.devices import device as Device
from torchlike.optim.helpers import _group_tensors_by_device_and_dtype
from torchlike.tensor import Tensor

__all__ = [
    "_device_has_foreach_support",
    "_foreach_supported_types",
    "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices",
    "_group_tensors_by_device_and_dtype",
    "_has_foreach_support",
]

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
