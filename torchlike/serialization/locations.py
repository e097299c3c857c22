"""Where a checkpoint's memory goes: by default, where it was saved from."""

from __future__ import annotations

from typing import Any

from torchlike._core import devices


def location_tag(storage: Any) -> str:
    """Return how a checkpoint names the device of a storage: "cpu", "cuda:0", "meta"."""
    place = storage.device
    return place.type if place.index is None else f"{place.type}:{place.index}"


def default_restore_location(storage: Any, location: str) -> Any:
    """Move a storage to the device that ``location`` names ("cpu", "cuda:0", "meta"), and return
    it.

    RuntimeError in PyTorch's words for CUDA without a GPU, and for an unknown location.
    """
    kind = location.partition(":")[0]
    if kind == "cuda" and not devices.available("cuda"):
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False. If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    if kind == storage.device.type:
        return storage
    if kind == "cpu" and hasattr(storage, "cpu"):
        return storage.cpu()
    raise RuntimeError(
        f"don't know how to restore data location of {_name(storage)} (tagged with {location})"
    )


def _name(storage: Any) -> str:
    kind = type(storage)
    return f"torch.storage.{kind.__name__}"
