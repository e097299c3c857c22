"""Devices: PyTorch's names (cpu, cuda, xla/tpu, meta) on JAX devices."""

from __future__ import annotations

import functools
from typing import Any

import jax
from jax import core

from torchlike._core import errors, modes
from torchlike._runtime import platforms
from torchlike._runtime.rendezvous import coordination

_PYTORCH_TYPES_TEXT = """
cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia
privateuseone
"""
_PYTORCH_TYPES = tuple(_PYTORCH_TYPES_TEXT.split())
#: Which device types mean others in this process (`map_types`).
_mapped: dict[str, str] = {}
#: PyTorch device type -> JAX platform names that can serve it.
_PLATFORMS = {"cpu": ("cpu",), "cuda": ("cuda", "gpu", "rocm"), "xla": ("tpu",), "tpu": ("tpu",)}


class device:
    """Where a tensor lives: ``device("cpu")``, ``device("cuda:1")``, ``device("cuda", 1)``.

    Also a context manager: inside ``with device(...)`` new tensors are made there. RuntimeError for
    an unknown type.

    Example:
      >>> with torch.device("meta"):
      ...     x = torch.zeros(1000, 1000)
      >>> x.device, x.shape
      (device(type='meta'), torch.Size([1000, 1000]))
    """

    __module__ = "torchlike"
    __slots__ = ("_previous", "index", "type")

    def __init__(self, type: Any, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index if index is None else index
        elif isinstance(type, int):
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str or int, not {type!r}")
        elif ":" in type:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed "
                    f"explicitly: {type}"
                )
            name, _, number = type.partition(":")
            if not number.isdecimal():
                raise RuntimeError(f"Invalid device string: '{type}'")
            if len(number) > 9:
                raise RuntimeError(
                    f"Could not parse device index '{number}' in device string '{type}'"
                )
            type, index = name, int(number)
        if index is not None and not 0 <= index < 2**31:
            raise RuntimeError(
                "Device index must not be negative"
                if index < 0
                else f"Could not parse device index '{index}'"
            )
        if type not in _PYTORCH_TYPES and type != "tpu":
            raise RuntimeError(
                f"Expected one of {', '.join(_PYTORCH_TYPES)} device type at start of device "
                f"string: {type}"
            )
        if type in _mapped:
            type = _mapped[type]
            index = None if type in ("cpu", "meta") else index
        self.type = type
        self.index = index
        self._previous: list[device | None] = []

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[object, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        self._previous.append(modes.current.device)
        modes.current.device = self
        return self

    def __exit__(self, *exc: object) -> None:
        modes.current.device = self._previous.pop()


CPU = device("cpu")
META = device("meta")


def map_types(mapping: dict[str, str]) -> None:
    """Let each key name the device type that is its value from now on: scripts that say "cuda" run
    on what there is. An empty mapping ends that.

    ValueError for types that are not PyTorch's.
    """
    for name in (*mapping, *mapping.values()):
        if name not in _PYTORCH_TYPES and name != "tpu":
            raise ValueError(f"{name!r} is no device type: {', '.join(_PYTORCH_TYPES)}, tpu")
    _mapped.clear()
    _mapped.update(mapping)


def mapping() -> dict[str, str]:
    """Return the mapping that `map_types` was given."""
    return dict(_mapped)


def mapped(type: str) -> str:
    """Return the device type that a device type's name stands for."""
    return _mapped.get(type, type)


def available(type: str, *, of_all_processes: bool = False) -> list[Any]:
    """Return the JAX devices of this process that serve a PyTorch device type, or those of all
    processes that JAX knows; empty when there are none."""
    type = mapped(type)
    if platforms.stands_for_gpu():
        return platforms.stand_ins(type)
    if type != "cpu" and not platforms.started() and platforms.only_cpu():
        return []
    for platform in _PLATFORMS.get(type, ()):
        try:
            # A rank has its own alone.
            return (
                jax.devices(platform) if of_all_processes else jax.local_devices(backend=platform)
            )
        except RuntimeError:
            continue  # JAX says "unknown backend" by raising
    return []


@functools.cache
def _jax_device(type: str, index: int | None) -> Any:
    found = available(type)
    if not found:
        platforms = ", ".join(sorted({d.platform for d in jax.devices()} | {"cpu"}))
        raise RuntimeError(
            f"No {type.upper()} device is available: device='{type}' was asked for, but the JAX "
            f"backends found are: {platforms}. Install jax for that accelerator (for example "
            f"pip install 'torchlike[{type if type in ('cuda', 'tpu') else 'cuda'}]') or use "
            f"device='cpu'."
        )
    if len(found) == 1 and index is not None and index == coordination.local_rank():
        return found[0]  # a rank has one device, and calls it by its own number
    if type == "cpu" and len(found) == 1:
        return found[0]  # PyTorch takes any number for it
    if index is not None and index >= len(found):
        raise errors.AcceleratorError(
            f"{type.upper()} error: invalid device ordinal\nGPU device may be out of range, do you "
            f"have enough GPUs? There are {len(found)} here."
        )
    return found[index or 0]


def to_jax(d: device) -> Any:
    """Return the JAX device behind a device. RuntimeError naming JAX's backends when there is none,
    AcceleratorError for an index beyond the last."""
    return _jax_device(d.type, d.index)


@functools.cache
def from_jax(d: Any) -> device:
    """Return the PyTorch-style device of a JAX device."""
    if platforms.is_cpu(d):
        return CPU
    kind = "cuda" if platforms.is_gpu(d) else "xla"
    own = coordination.local_rank()
    return device(kind, d.id if own is None else own)


def accelerator_of(array: object) -> device | None:
    """Return the accelerator on which an array lies; None for the CPU, and for what is no array."""
    if not isinstance(array, jax.Array) or isinstance(array, core.Tracer):
        return None
    found = from_jax(next(iter(array.sharding.device_set)))
    return None if found.type == "cpu" else found


def resolve(d: Any) -> device:
    """Return the device for whatever a user passes: None (the default), a string, an int, a
    device."""
    if d is None:
        return modes.current.device or CPU
    if type(d) is device and (not _mapped or d is CPU):
        return d
    return device(d)


def get_default_device() -> device:
    """Return the device on which tensors are made when none is given."""
    return modes.current.device or CPU


def set_default_device(d: Any) -> None:
    """Make tensors on ``d`` from now on, in this thread (None: the CPU again)."""
    modes.current.device = None if d is None else resolve(d)
