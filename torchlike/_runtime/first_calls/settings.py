"""Whether the first calls of a signature are computed by NumPy or compiled at once."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator

from torchlike._runtime import platforms
from torchlike._runtime.environment_variables import FIRST_CALLS

assert FIRST_CALLS.values is not None
NUMPY, COMPILED = FIRST_CALLS.values
#: Symbols stand for sizes from here on: 0 and 1 mean something else to broadcasting.
LEAST = 2


class Settings:
    """What holds for the whole process, other threads included.

    Attributes:
      host_bytes: bytes of the largest array that is left on the host when it is made.
      xla_is_dear: how often the usual cost a call of a compiled program has: more in a process
        whose arrays are all on the host, where XLA would start for it.
      strict: whether an error of a NumPy rule is raised, rather than logged and the form compiled.
      check: whether every program made from a trace of other sizes is compared with one of its own.
      defers: whether a thread has deferred calls since the process began (_extensions/deferred).
      recording: how many queues record what their threads call.
      asks: whether there is more to ask than NumPy: calls are compiled, or recorded.
    """

    def __init__(self) -> None:
        self._mode = next(iter(FIRST_CALLS.get()), NUMPY)
        self._counting = threading.RLock()  # a queue may go while another one is counted
        self.defers = False
        self.recording = 0
        self.asks = self._mode == COMPILED
        self.host_bytes = 1 << 16
        self.xla_is_dear = 1
        self.strict = False
        self.check = False

    @property
    def mode(self) -> str:
        """How first calls are computed."""
        return self._mode

    @mode.setter
    def mode(self, mode: str) -> None:
        self._mode = mode
        self.asks = self.recording > 0 or mode == COMPILED

    def ask_who_defers(self) -> None:
        """Have compiled forms ask from now on whether their calls are deferred."""
        self.defers = True

    def count_recording(self, more: int) -> None:
        """Take note that one queue more records (1), or one fewer (-1)."""
        with self._counting:
            self.recording += more
            self.mode = self._mode


settings = Settings()


class ThreadSettings(threading.local):
    """What holds for one thread.

    Attributes:
      weight: as how many calls one by NumPy counts towards compiling. 0 while a program is compiled
        of which it is a part: each operation that XLA compiled would be a wait, and soon be unused.
    """

    weight = 1.0


thread = ThreadSettings()


@contextlib.contextmanager
def settling() -> Iterator[None]:
    """Have one call by NumPy suffice in this thread: with the next call, what is compiled some time
    is compiled. What stays with NumPy stays."""
    weight, thread.weight = thread.weight, math.inf
    try:
        yield
    finally:
        thread.weight = weight


def by_numpy() -> bool:
    """Return whether NumPy computes the first calls of operations here."""
    return settings.mode == NUMPY and platforms.cpu_is_default()


class set_first_calls:
    """How the first calls of an operation on a new shape are computed, from now on.

    Also a context manager, which sets the mode back at its end. It holds for all threads. The
    environment variable ``TORCHLIKE_FIRST_CALLS`` says the mode at the start. On accelerators
    everything is compiled.

    Args:
      mode: "numpy", the default: by NumPy, until compiling pays; "compiled": every signature is
        compiled when it is first met.

    Raises:
      ValueError: another mode.

    Example:
      >>> with torchlike.compiler.set_first_calls("numpy"):
      ...     torchlike.compiler.get_first_calls()
      'numpy'
    """

    def __init__(self, mode: str) -> None:
        if mode not in (NUMPY, COMPILED):
            raise ValueError(f"first calls must be {NUMPY!r} or {COMPILED!r}, got {mode!r}")
        self._previous, settings.mode = settings.mode, mode

    def __enter__(self) -> set_first_calls:
        return self

    def __exit__(self, *exc: object) -> None:
        settings.mode = self._previous


def get_first_calls() -> str:
    """Return the mode that ``set_first_calls`` or the environment set.

    Returns:
      "numpy" or "compiled".

    Example:
      >>> torchlike.compiler.get_first_calls() in ("numpy", "compiled")
      True
    """
    return settings.mode
