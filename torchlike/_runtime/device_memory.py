"""Says what holds a device's memory: in ``memory_summary``, and where a device has no more of it.

JAX lists the arrays that are alive. Who made them is known while `LINES` records, for which the
constructor of storages is exchanged (``torch.cuda.memory._record_memory_history``): without that
nothing is asked of anybody.
"""

from __future__ import annotations

import gc
import math
import re
import weakref
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax

from torchlike._runtime import platforms, recycling
from torchlike._runtime.frames import users_frame
from torchlike._runtime.provided import Signal

#: Lines of a table.
MOST = 10

about_to_list = Signal("what lives on a device is about to be listed")
caches_freed = Signal("memory that caches hold is wanted back")

_SIZE = re.compile(r"allocat(?:e|ing) (\d+(?:\.\d+)?)\s*(bytes|[KMGT]iB|B)\b")
_UNITS = {"bytes": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


class OutOfMemoryError(RuntimeError):
    """A device has not the memory that was asked for (``torch.OutOfMemoryError``)."""


class Lines:
    """The lines of the user's that made what is alive; nothing until `record` is called."""

    def __init__(self) -> None:
        self.records = False
        #: By id, beside a reference that takes the entry out when the array goes.
        self._of: dict[int, tuple[weakref.ref[Any], str]] = {}

    def record(self, records: bool) -> None:
        """Begin or end; what was recorded is forgotten at the end."""
        self.records = records
        if not records:
            self._of.clear()

    def note(self, array: Any, line: str | None = None) -> str:
        """Note that the user's line made an array, or the given one, and return it."""
        if line is None:
            frame = users_frame()
            line = "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if isinstance(array, jax.Array):
            key = id(array)
            forget = self._of.pop
            self._of[key] = weakref.ref(array, lambda _: forget(key, None)), line
        return line

    def of(self, array: Any) -> str:
        """Return the line that made an array; "" where none was recorded."""
        reference, line = self._of.get(id(array), (None, ""))
        return line if reference is not None and reference() is array else ""


LINES = Lines()


class LiveArrays(NamedTuple):
    """Arrays of one shape and dtype that one line made: the bytes that they take on a device."""

    nbytes: int
    count: int
    shape: tuple[int, ...]
    dtype: str
    line: str


def held(device: Any) -> list[LiveArrays]:
    """Return what lives on a JAX device, largest first; of an array over several its part there."""
    about_to_list()
    counts: Counter[tuple[tuple[int, ...], str, str]] = Counter()
    sizes: dict[tuple[tuple[int, ...], str, str], int] = {}
    for array in jax.live_arrays(device.platform):
        if not _is_there(array, device):
            continue
        key = array.shape, str(array.dtype), LINES.of(array)
        part = math.prod(array.sharding.shard_shape(array.shape)) * array.dtype.itemsize
        counts[key] += 1
        sizes[key] = sizes.get(key, 0) + part
    found = [LiveArrays(sizes[key], n, *key) for key, n in counts.items()]
    return sorted(found, key=lambda h: (-h.nbytes, h.shape, h.dtype, h.line))


def _is_there(array: Any, device: Any) -> bool:
    """Return whether a device has the memory of an array: one whose program failed has none."""
    if array.is_deleted() or device not in array.sharding.device_set:
        return False
    try:
        array.block_until_ready()
    except RuntimeError:
        return False
    return True


def table(found: list[LiveArrays], most: int = MOST) -> str:
    """Return the lines of a table of what is held: bytes, how many, shape, dtype, who made it."""
    lines = [
        f"{size(h.nbytes):>12}  {h.count:>5} x {list(h.shape)} {h.dtype}"
        + (f"  {h.line}" if h.line else "")
        for h in found[:most]
    ]
    if rest := found[most:]:
        many = sum(h.count for h in rest)
        lines.append(f"{size(sum(h.nbytes for h in rest)):>12}  {many:>5} others")
    return "\n".join(lines)


def size(nbytes: float) -> str:
    """Return a number of bytes in PyTorch's words for it, ``20.00 MiB``."""
    for unit in ("GiB", "MiB", "KiB"):
        if nbytes >= _UNITS[unit]:
            return f"{nbytes / _UNITS[unit]:.2f} {unit}"
    return f"{int(nbytes)} bytes"


def free_caches() -> None:
    """Free what is kept so that later calls are faster: the memory of earlier results, and what
    views have read of their storages; and garbage in cycles, such as an error's frames."""
    gc.collect()
    recycling.clear()
    caches_freed()


def is_refused(error: Exception) -> bool:
    """Return whether an error of XLA's is that a device has no memory left, or had none for a
    program whose results another one takes."""
    words = ("RESOURCE_EXHAUSTED", "Out of memory")
    return isinstance(error, jax.errors.JaxRuntimeError) and any(w in str(error) for w in words)


def out_of_memory(error: Exception, arrays: Iterable[object] = (), doing: str = "") -> Exception:
    """Return OutOfMemoryError, which names what holds the memory, for XLA's error that a device has
    none left; another error as it is."""
    return OutOfMemoryError(explain(error, arrays, doing)) if is_refused(error) else error


def explain(error: Exception, arrays: Iterable[Any] = (), doing: str = "") -> str:
    """Return the words for XLA's error that a device has no memory left, PyTorch's first; free
    what caches hold there, and what the error's frames do.

    Args:
      arrays: of the call that failed, whose device it is; by default JAX's first.
      doing: what failed, ``add() on …``.
    """
    error.__traceback__ = None  # its frames hold the operands, for as long as somebody holds it
    text = str(error).split("\n")[0]
    device = _device_of(arrays)
    found = held(device)
    alive = sum(h.nbytes for h in found)
    asked = _SIZE.search(text)
    tried = f" Tried to allocate {size(float(asked[1]) * _UNITS[asked[2]])}." if asked else ""
    words = f"{_name(device)}.{tried} {_free(device)}"
    words += f"Live tensors hold {size(alive)}.\n"
    if found:
        words = f"{words[:-2]}:\n{table(found)}\n"
    if not LINES.records:
        words += "torch.cuda.memory._record_memory_history() has the lines that make them named.\n"
    free_caches()
    return f"{words}{doing or 'It'} failed: {text}"


def _device_of(arrays: Iterable[Any]) -> Any:
    for a in arrays:
        if isinstance(a, jax.Array) and hasattr(a, "sharding"):
            device = min(a.sharding.device_set, key=lambda d: d.id)
            if not platforms.is_cpu(device):
                return device
    return jax.local_devices()[0]


def _name(device: Any) -> str:
    if platforms.is_cpu(device):
        return "not enough memory"
    return f"{'CUDA' if platforms.is_gpu(device) else 'XLA'} out of memory"


def _free(device: Any) -> str:
    counts = device.memory_stats() or {}
    total, used = counts.get("bytes_limit"), counts.get("bytes_in_use", 0)
    if not total:
        return ""
    kind = "GPU" if platforms.is_gpu(device) else "Device"
    return f"{kind} {device.id} has {size(total)} for XLA, of which {size(total - used)} is free. "
