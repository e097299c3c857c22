"""Batches for several devices, cut and joined. A process computes on one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike._core import devices
from torchlike._runtime.trees import flatten, unflatten
from torchlike.tensor import Tensor


def _device(given: Any) -> devices.device:
    found = devices.device("cuda", given) if isinstance(given, int) else devices.device(given)
    if found.type == "cpu":
        raise ValueError(f"Expected a non cpu device, but got: {found}")
    return found


def _moved(tree: Any, device: devices.device) -> Any:
    leaves, structure = flatten(tree)
    return unflatten(structure, [x.to(device) if isinstance(x, Tensor) else x for x in leaves])


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Return nested inputs for each device, their tensors cut along ``dim``. For one GPU: the
    inputs, moved there (left where they are, without a GPU).

    ValueError for the CPU, as in PyTorch; NotImplementedError for several devices.
    """
    found = [_device(d) for d in target_gpus]
    if len(found) > 1:
        raise NotImplementedError(
            "torch.nn.parallel.scatter: a module runs on one device. Use instead: jax.sharding."
        )
    if not devices.available("cuda"):
        return [inputs] * len(found)
    return [_moved(inputs, d) for d in found]


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Return the output of the one device. Raises AssertionError for outputs on the CPU, as in
    PyTorch, and NotImplementedError for several."""
    if len(outputs) > 1:
        raise NotImplementedError(
            "torch.nn.parallel.gather: a module runs on one device. Use instead: torch.cat."
        )
    (only,) = outputs
    if isinstance(only, Tensor) and only.device.type == "cpu":
        raise AssertionError("Gather function not implemented for CPU tensors")
    return _moved(only, _device(target_device))
