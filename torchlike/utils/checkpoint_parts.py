"""Parts of checkpointing that libraries use in schemes of their own."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from torchlike.random.generator import accelerators
from torchlike.tensor import Tensor


class DefaultDeviceType:
    """The device type that checkpointing means for tensors on none: "cuda" until told another."""

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the device type."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Return the device type that is set."""
        return DefaultDeviceType._default_device_type


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors without their history, which require grad as before; other values are
    returned as they are.

    RuntimeError for what is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: ",
            type(inputs).__name__,
        )
    out = []
    for value in inputs:
        if isinstance(value, Tensor):
            detached = value.detach()
            detached.requires_grad = value.requires_grad
            value = detached
        out.append(value)
    return tuple(out)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn, by a UserWarning, when no input requires grad: a checkpoint's gradients would be
    None."""
    if not any(value.requires_grad for value in inputs if isinstance(value, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the accelerators on which tensors among the arguments are, by their numbers, and the
    states of their generators."""
    found = {x.device.index or 0 for x in args if isinstance(x, Tensor) and not x.is_cpu}
    devices = sorted(found)
    return devices, [accelerators.of(index).get_state() for index in devices]


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Restore what ``get_device_states`` gave."""
    for index, state in zip(devices, states, strict=True):
        accelerators.of(index).set_state(state)
