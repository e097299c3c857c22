"""How NumPy's matrix library shares the processor with XLA.

The threads of OpenBLAS, NumPy's own, spin for 2^26 cycles (20 ms) after each product. One small
product of a first call then takes a core from XLA for as long as several compiled ops run: the
second to fiftieth step of a GPT took 100 ms for 75, its first 440 for 370 (two cores).

OpenBLAS reads once, as NumPy is imported, how long to spin. Where NumPy is there already, its
products for first calls run in one thread instead.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchlike._runtime.lazy import LazyModule
from torchlike._runtime.patches import at_import

if TYPE_CHECKING:
    import numpy as np

    _Product = Callable[[np.ndarray, np.ndarray], np.ndarray]

threadpoolctl = LazyModule("threadpoolctl")

#: The logarithm of the cycles for which a thread without work spins; 4 is the least that is taken.
_SPINS = "OPENBLAS_THREAD_TIMEOUT"


def sleep_at_once() -> None:
    """Ask OpenBLAS's threads to sleep where they have no work, unless the user said for how long
    they spin. Call it before NumPy is imported."""
    global _spin
    _spin = "numpy" in sys.modules and _SPINS not in os.environ
    if not _spin and _SPINS not in os.environ:
        at_import.BLAS_THREADS.set_item(os.environ, _SPINS, "4")


#: Whether NumPy was imported first, so that its threads spin.
_spin = False
#: NumPy's matrix libraries, found at the first product: functions of theirs.
_libraries: list[Any] = []
#: One product at a time changes the number of threads and puts it back.
_lock = threading.Lock()


def product(multiply: _Product, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute ``multiply(x, y)``, in one thread where NumPy's threads would spin afterwards."""
    return _in_one_thread(multiply, x, y) if _spin else multiply(x, y)


def _in_one_thread(multiply: _Product, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with _lock:
        if not _libraries:
            found = threadpoolctl.ThreadpoolController().select(user_api="blas")
            _libraries.extend(map(_library, found.lib_controllers))
        several = [(library, n) for library in _libraries if (n := library.get_num_threads()) > 1]
        for library, _ in several:
            library.set_num_threads(1)
        try:
            return multiply(x, y)
        finally:
            for library, number in several:
                library.set_num_threads(number)


class _OpenBLAS:
    """OpenBLAS's own functions: they take 0.5 µs, by threadpoolctl's controller 5."""

    def __init__(self, get: Callable[[], int], set: Callable[[int], None]) -> None:
        self.get_num_threads, self.set_num_threads = get, set


def _library(controller: Any) -> Any:
    """Return the functions of a library; its controller for those of another kind than NumPy's."""
    if controller.internal_api != "openblas" or controller.threading_layer != "pthreads":
        return controller
    library = ctypes.CDLL(controller.filepath)
    for affixes in ("{}", "scipy_{}64_", "{}64_", "scipy_{}"):
        names = [affixes.format(f"openblas_{verb}_num_threads") for verb in ("get", "set")]
        if all(hasattr(library, name) for name in names):
            return _OpenBLAS(*[getattr(library, name) for name in names])
    return controller
