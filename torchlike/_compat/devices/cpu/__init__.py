"""``torch.cpu``: the host, asked in the words that accelerators are asked in."""

from __future__ import annotations

import contextlib
import functools
import platform
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from torchlike._compat.devices.cpu import amp as amp
from torchlike._compat.settings import get_num_threads
from torchlike._compat.streams import Event as _Event
from torchlike._compat.streams import Stream
from torchlike._runtime import pending

__name__ = "torchlike.cpu"  # where PyTorch has it, and what is printed


def is_available() -> bool:
    """Return True."""
    return True


def is_initialized() -> bool:
    """Return True."""
    return True


def device_count() -> int:
    """Return 1."""
    return 1


def current_device() -> str:
    """Return "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Do nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Wait until all that was asked of the devices is computed. Reading a value waits for that
    value; a time of one's own code needs this before the clock is read.

    Differs from PyTorch, where the CPU has always finished.
    """
    pending.wait()


_current = Stream("cpu")


def current_stream(device: Any = None) -> Stream:
    """Return the stream of the host, or that of the innermost ``StreamContext``."""
    return _current


class StreamContext(contextlib.AbstractContextManager[None]):
    """A region in which ``current_stream()`` is a given one; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: list[Stream] = []

    def __enter__(self) -> None:
        global _current
        self._before.append(_current)
        if self.stream is not None:
            _current = self.stream

    def __exit__(self, *exc: object) -> None:
        global _current
        _current = self._before.pop()


def stream(stream: Stream | None) -> StreamContext:
    """Return ``StreamContext(stream)``."""
    return StreamContext(stream)


class Event(_Event):
    """A point in the host's work."""

    def __init__(self) -> None:
        super().__init__("cpu")


_ALIKE_TEXT = """
sse sse2 ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni avx512_bf16 avx512_fp16 avx512_vbmi2
avx512_vnni avx512_bitalg avx512_vpopcntdq avx512_vp2intersect avx512_4vnniw avx512_4fmaps
amx_bf16 amx_tile amx_int8 amx_fp16 fma4 f16c popcnt aes clflushopt clwb
"""
#: PyTorch's names of instruction sets -> Linux's, on x86-64.
_X86 = {
    **{name: name for name in _ALIKE_TEXT.split()},
    **{f"avx512_{name}": f"avx512{name}" for name in ("f", "cd", "dq", "bw", "vl", "ifma", "vbmi")},
    "sse3": "pni",
    "fma3": "fma",
    "lzcnt": "abm",
    "sha": "sha_ni",
    "clflush": "clflush",
    "bmi": "bmi1",
    "bmi2": "bmi2",
}
#: The same on 64-bit ARM.
_ARM = {
    "neon": "asimd",
    "fp16_arith": "asimdhp",
    "bf16": "bf16",
    "i8mm": "i8mm",
    "dot": "asimddp",
    "sve": "sve",
    "sve2": "sve2",
    "sve_bf16": "svebf16",
    "sme": "sme",
    "sme2": "sme2",
    "atomics": "atomics",
    "fhm": "asimdfhm",
    "rdm": "asimdrdm",
    "crc32": "crc32",
    "aes": "aes",
    "sha1": "sha1",
    "sha2": "sha2",
    "pmull": "pmull",
}


@functools.cache
def get_capabilities() -> Mapping[str, Any]:
    """Return which instruction sets the host has (``"avx2": True``), its architecture and its
    cores.

    Differs from PyTorch: what Linux says in /proc/cpuinfo; elsewhere only the architecture and the
    number of cores.
    """
    machine = platform.machine()
    found: dict[str, Any] = {"architecture": machine, "num_logical_cores": get_num_threads()}
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        facts: dict[str, str] = {}
        for line in listing.read_text().splitlines():
            name, _, value = line.partition(":")
            facts.setdefault(name.strip(), value.strip())
        flags = set((facts.get("flags") or facts.get("Features") or "").split())
        names = _ARM if machine in ("aarch64", "arm64") else _X86
        found.update({name: linux in flags for name, linux in names.items()})
        if "model name" in facts:
            found["cpu_name"] = facts["model name"]
    return MappingProxyType(found)
