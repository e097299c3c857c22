"""How NumPy's matrix library shares the processor with XLA.

The threads of OpenBLAS, NumPy's own, spin for 2^26 cycles (20 ms) after each product. One small
product of a first call then takes a core from XLA for as long as several compiled ops run: the
second to fiftieth step of a GPT took 100 ms for 75, its first 440 for 370 (two cores).

OpenBLAS reads once, as NumPy is imported, how long to spin. Where NumPy is there already, its
products for first calls run in one thread instead.
"""

from __future__ import annotations

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
#: NumPy's matrix libraries, found at the first product: threadpoolctl's controllers.
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
            _libraries.extend(found.lib_controllers)
        threads = [library.get_num_threads() for library in _libraries]
        for library in _libraries:
            library.set_num_threads(1)
        try:
            return multiply(x, y)
        finally:
            for library, number in zip(_libraries, threads, strict=True):
                library.set_num_threads(number)
