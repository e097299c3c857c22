"""Memory of the GPUs, as XLA's allocator counts it; zeros without one."""

from __future__ import annotations

import gc
from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

from torchlike._core.storage import Storage
from torchlike._core.views.chains import View
from torchlike._runtime import device_memory
from torchlike.cuda._device import is_available, jax_device, require

#: PyTorch's names of what XLA counts.
_NAMES = {
    "allocated_bytes.all.current": "bytes_in_use",
    "allocated_bytes.all.peak": "peak_bytes_in_use",
    "reserved_bytes.all.current": "bytes_reserved",
    "reserved_bytes.all.peak": "peak_bytes_reserved",
    "num_alloc_retries": "num_retries",
    "allocation.all.allocated": "num_allocs",
}


def _counts(device: Any) -> dict[str, int]:
    return dict(jax_device(device).memory_stats() or {}) if is_available() else {}


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """Return the numbers that XLA counts, under PyTorch's names; empty without a GPU."""
    counts = _counts(device)
    return OrderedDict((name, int(counts[own])) for name, own in _NAMES.items() if own in counts)


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return the numbers of ``memory_stats`` as dictionaries in dictionaries."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        at = nested
        for part in path:
            at = at.setdefault(part, {})
        at[last] = value
    return nested


def memory_allocated(device: Any = None) -> int:
    """Return the bytes in use on the GPU (0 without one)."""
    return int(_counts(device).get("bytes_in_use", 0))


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that were in use (0 without a GPU)."""
    return int(_counts(device).get("peak_bytes_in_use", 0))


def memory_reserved(device: Any = None) -> int:
    """Return the bytes held by XLA's allocator (0 without a GPU)."""
    return int(_counts(device).get("bytes_reserved", 0))


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that were held (0 without a GPU)."""
    return int(_counts(device).get("peak_bytes_reserved", memory_reserved(device)))


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the bytes free for XLA, and in all. AssertionError without a GPU."""
    require()
    counts = _counts(device)
    total = int(counts.get("bytes_limit", 0))
    return total - int(counts.get("bytes_in_use", 0)), total


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return XLA's counts and what lives on the GPU, by shape and dtype, as a table; with the lines
    that made it where `_record_memory_history` is on. AssertionError without a GPU."""
    require()
    lines = [f"| {name:34} | {value:>16,} |" for name, value in memory_stats(device).items()]
    rule = "=" * 57
    counts = "\n".join([rule, *lines, rule]) + "\n" if lines else ""
    found = device_memory.held(jax_device(device))
    alive = sum(h.nbytes for h in found)
    shown = device_memory.table(found, device_memory.MOST if abbreviated else len(found))
    return f"{counts}Live tensors hold {device_memory.size(alive)}:\n{shown}\n"


def _record_memory_history(
    enabled: Any = "all",
    context: Any = "all",
    stacks: Any = "all",
    max_entries: Any = None,
    device: Any = None,
    clear_history: Any = False,
    **kwargs: Any,
) -> None:
    """Note from now on which line of the program makes a tensor, for `memory_summary` and the
    error that a device is out of memory; with ``None`` no more, and forget them.

    An addition takes 11 µs instead of 5 meanwhile. (No history of what was freed is kept.)
    """
    if enabled not in (None, "state", "all"):
        raise RuntimeError(f"expected enabled to be 'state', 'all' or None but got {enabled}")
    if clear_history or enabled is None:
        device_memory.LINES.record(False)
        _lines_of_cells.clear()
    device_memory.LINES.record(enabled is not None)
    Storage.__init__ = _init if enabled is None else _noting  # type: ignore[method-assign]


_init = Storage.__init__
#: The lines that made what is alive, by its cell: writes put other arrays into it.
_lines_of_cells: WeakKeyDictionary[Storage, str] = WeakKeyDictionary()


def _noting(self: Storage, cell: object, host: Any = None) -> None:
    _init(self, cell, host)
    _lines_of_cells[self] = device_memory.LINES.note(cell)


@device_memory.about_to_list.call
def _name_arrays_of_cells() -> None:
    """Have the array that is in a cell now under the line that made the cell."""
    for storage, line in list(_lines_of_cells.items()):
        device_memory.LINES.note(storage.cell, line)


@device_memory.caches_freed.call
def _forget_reads() -> None:
    """Free what views have read of their storages; they read it again where it is asked for."""
    for view in gc.get_objects():
        if type(view) is View:
            view.cached, view.cached_version = None, -1


def memory_snapshot(mempool_id: Any = None) -> Any:
    """Raise NotImplementedError: XLA lists no blocks."""
    raise NotImplementedError(
        "torch.cuda.memory_snapshot: XLA's allocator does not list its blocks. Use instead: "
        "jax.profiler.device_memory_profile()."
    )


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    """Raise NotImplementedError: XLA lists no blocks."""
    memory_snapshot()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Do nothing: XLA's peak is that since the process began."""


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
reset_accumulated_memory_stats = reset_peak_memory_stats


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Raise NotImplementedError: XLA's share is set before the process begins. AssertionError
    without a GPU."""
    require()
    raise NotImplementedError(
        "torch.cuda.set_per_process_memory_fraction: set XLA_PYTHON_CLIENT_MEM_FRACTION before the "
        "process begins."
    )


def empty_cache() -> None:
    """Free what torchlike keeps for later calls: what views have read, memory of earlier results,
    garbage in cycles. XLA's allocator keeps what it has of the device for the next arrays."""
    device_memory.free_caches()
