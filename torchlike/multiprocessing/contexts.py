"""Processes, pools and contexts: the standard library's, with two additions.

None starts a stranger to torchlike (``_child_processes``). And "fork" copies this process while it
has computed nothing: a fork of one that has computed with JAX hangs, so from then on processes of
that method start anew, as by "spawn". Locks, queues and the like are made for both.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.context as standard
import sys
from collections.abc import Callable
from typing import Any

from torchlike._runtime import platforms
from torchlike.multiprocessing._child_processes import refuse_strangers


class Process(multiprocessing.Process):
    """A process of the default start method; see ``get_context``.

    Raises:
        NotImplementedError: on ``start()``, where ``torch`` would be another package in it.
    """

    def start(self) -> None:
        refuse_strangers("torch.multiprocessing.Process", multiprocessing.get_start_method())
        super().start()

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        return get_context().Process._Popen(process_obj)


class SpawnProcess(standard.SpawnProcess):
    """A process that starts Python anew. NotImplementedError on ``start()``, as of ``Process``."""

    def start(self) -> None:
        refuse_strangers("torch.multiprocessing.Process", "spawn")
        super().start()


class SpawnContext(standard.SpawnContext):
    """The standard library's, with processes that are refused where they would be strangers."""

    Process = SpawnProcess

    def Manager(self) -> Any:
        """Start a manager, which keeps what it is given and runs no code of the script: never
        refused."""
        return multiprocessing.get_context("spawn").Manager()


_SPAWN = SpawnContext()
_OWN: dict[str, Any] = {"spawn": _SPAWN}

if sys.platform != "win32":

    class ForkServerProcess(standard.ForkServerProcess):
        """A copy of a server that starts Python anew. NotImplementedError as of ``Process``."""

        def start(self) -> None:
            refuse_strangers("torch.multiprocessing.Process", "forkserver")
            super().start()

    class ForkServerContext(standard.ForkServerContext):
        """The standard library's, with processes that are refused where they would be strangers."""

        Process = ForkServerProcess

        def Manager(self) -> Any:
            """Start a manager, as ``SpawnContext`` does."""
            return multiprocessing.get_context("forkserver").Manager()

    class ForkProcess(standard.ForkProcess):
        """A copy of this process; once it has computed, a process that starts Python anew, which is
        refused as ``Process`` is."""

        @staticmethod
        def _Popen(process_obj: Any) -> Any:
            if not platforms.started():
                return standard.ForkProcess._Popen(process_obj)
            refuse_strangers("torch.multiprocessing.Process", "spawn")
            return standard.SpawnProcess._Popen(process_obj)

    class ForkContext(standard.ForkContext):
        """The standard library's, with processes that do not hang."""

        Process = ForkProcess

        def Manager(self) -> Any:
            """Start a manager, as ``SpawnContext`` does."""
            method = "spawn" if platforms.started() else "fork"
            return multiprocessing.get_context(method).Manager()

    def _made_for_both(name: str) -> Any:
        def make(self: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(_SPAWN, name)(*args, **kwargs)

        make.__name__ = name
        make.__doc__ = "The standard library's, for processes that are copies or start anew."
        return make

    for _name in (
        "Array",
        "Barrier",
        "BoundedSemaphore",
        "Condition",
        "Event",
        "JoinableQueue",
        "Lock",
        "Queue",
        "RLock",
        "Semaphore",
        "SimpleQueue",
        "Value",
    ):
        setattr(ForkContext, _name, _made_for_both(_name))

    _OWN |= {"forkserver": ForkServerContext(), "fork": ForkContext()}


def get_context(method: str | None = None) -> Any:
    """Return the context of a start method, or of the present one. ValueError for an unknown one.

    Differs from PyTorch: "fork" starts Python anew once this process has computed, so that what it
    runs must be pickled, and the script needs ``if __name__ == "__main__":``.
    """
    context = multiprocessing.get_context(method)
    return _OWN.get(context.get_start_method(), context)


def Pool(
    processes: int | None = None,
    initializer: Callable[..., object] | None = None,
    initargs: Any = (),
    maxtasksperchild: int | None = None,
) -> Any:
    """Start a pool of processes of the default start method; refused as ``Process`` is."""
    return get_context().Pool(processes, initializer, initargs, maxtasksperchild)


def of_the_present_context(name: str) -> Callable[..., Any]:
    """Make the function ``torch.multiprocessing.<name>``: that of the present start method's
    context."""

    def make(*args: Any, **kwargs: Any) -> Any:
        return getattr(get_context(), name)(*args, **kwargs)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = getattr(standard.BaseContext, name).__doc__
    return make
