"""``torchlike.deferred``: whether this thread's calls are deferred."""

from __future__ import annotations

import threading

from torchlike._core import modes
from torchlike._extensions.deferred import policy
from torchlike._extensions.deferred.queue import Queue
from torchlike._runtime import pending
from torchlike._runtime.environment_variables import EAGER
from torchlike._runtime.first_calls.settings import settings
from torchlike._runtime.patches import at_import

#: How calls run where the environment does not say: "immediate" or "deferred".
DEFAULT = "immediate"


class deferred:
    """Defer what this thread calls, from now on, or call it at once again.

    Also a context manager, which sets back at its end what held before. A deferred call is
    recorded; it runs when a value is asked for (``item()``, printing, ``numpy()``, a decision), and
    what recurs runs as one compiled program. What a script does is the same: Python runs as
    ever, and errors of shapes and dtypes come at their line. Sums are rounded as compiled programs
    round them. Each thread says it for itself; the environment variable ``TORCHLIKE_EAGER`` says
    it for all.

    Args:
      mode: whether calls are deferred.

    Example:
      >>> with torchlike.deferred(True):
      ...     y = torch.ones(3) * 2
      ...     z = (y + 1).sum()
      >>> z
      tensor(9.)
    """

    def __init__(self, mode: bool = True) -> None:
        self._previous = modes.current.queue
        _switch_to(None if not mode else self._previous or _made())

    def __enter__(self) -> deferred:
        return self

    def __exit__(self, *exc: object) -> None:
        _switch_to(self._previous)


class _Thread(threading.local):
    queue: Queue | None = None  # while nothing is deferred, too: what it has heard so far counts


_thread = _Thread()


def _made() -> Queue:
    settings.ask_who_defers()
    if _thread.queue is None or _thread.queue.policy is not policy.current:
        _thread.queue = Queue(policy.current)
    return _thread.queue


def _switch_to(queue: Queue | None) -> None:
    """Make a queue this thread's; what another one has recorded is run."""
    current = modes.current
    if current.queue is not None and current.queue is not queue:
        current.queue.flush("calls are deferred no more")
    current.queue = queue
    current.watch(current.capture)


def _of_thread() -> Queue | None:
    return _made()


def _before_fork() -> None:
    """Run what is recorded: XLA's threads are not in the child."""
    queue = modes.current.queue
    if queue is not None:
        queue.flush("the process forks")


@pending.about_to_wait.call
def _before_waiting() -> None:
    queue = modes.current.queue
    if queue is not None:
        queue.flush("all work is waited for")


at_import.FORKS.at_fork(before=_before_fork)


def _as_the_environment_says() -> None:
    if policy.choose(next(iter(EAGER.get()), DEFAULT)):
        modes.queue_of_thread.by(_of_thread)
        _switch_to(_made())


_as_the_environment_says()
