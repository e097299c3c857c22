"""``warmup=k``: the first k calls of a kind run eagerly, while a thread compiles their program.

A call is of the kind of an earlier one where one program fits both. The first call of a kind only
runs eagerly: what it makes lazily (an optimizer's state) is there when the second is traced, and a
shape that comes once is never compiled. The second call is traced in the caller's thread, all that
the trace did is undone, and it runs eagerly as well (with ``warmup=1`` that is the first call).
Call k + 1 runs the program, and waits for it where it is not there yet: which calls run eagerly is
a matter of counts, never of time.

A trace whose program is for that call alone (it took from an iterator, which nobody can put back)
is not undone: it is the call, compiled at once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax

#: Kinds of calls of one function that are remembered without a program; the oldest is forgotten.
_MOST = 256
#: The call that is traced, unless there are fewer eager ones.
_TRACED_AT = 2
#: XLA's compiler has threads of its own: programs wait for each other.
_one_at_a_time = threading.Semaphore(1)


def checked(warmup: Any) -> int:
    """``warmup`` as a number of calls. TypeError unless it is an int, ValueError below 0."""
    if isinstance(warmup, bool) or not isinstance(warmup, int):
        raise TypeError(f"warmup must be an int, a number of calls, not {type(warmup).__name__}")
    if warmup < 0:
        raise ValueError(f"warmup must be a number of calls, 0 or more, not {warmup}")
    return warmup


def of_options(options: Any) -> int | None:
    """What ``torch.compile(options=…)`` says of it; None where it says nothing."""
    return options.get("warmup") if isinstance(options, Mapping) else None


class Compilation:
    """Work in a thread, begun at once, for which somebody may wait.

    It is no daemon: a process that ends in the midst of XLA's compiler would crash, so it waits for
    the one program that is being compiled. Those that are not begun by then never are.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work
        self._error: BaseException | None = None
        self._begun = threading.Lock()
        self._thread = threading.Thread(target=self._in_thread, name="torchlike.jit.compile.warmup")
        # Where no thread can be had, or the process ends, whoever waits does it.
        with contextlib.suppress(RuntimeError):
            self._thread.start()

    def _in_thread(self) -> None:
        with _one_at_a_time:
            if threading.main_thread().is_alive():
                self._do()

    def _do(self) -> bool:
        """Do the work unless somebody has begun it; whether that was here."""
        if not self._begun.acquire(blocking=False):
            return False
        work, self._work = self._work, None
        assert work is not None
        try:
            work()
        except BaseException as error:
            self._error = error
        return True

    def wait(self) -> None:
        """Until it is done; what stands behind another program is done here. Raises what it raised.

        In a process forked meanwhile nobody has done it, and the program's call compiles.
        """
        if not self._do():
            self._thread.join()
        if self._error is not None:
            raise self._error


class Pending:
    """A program that is being compiled, and how many calls of its kind there were."""

    def __init__(self, program: Any, compilation: Compilation, calls: int) -> None:
        self.program = program
        self.compilation = compilation
        self.calls = calls


class _Calls:
    """Calls with one key that no program fits, being compiled or not."""

    def __init__(self) -> None:
        #: How many there were since the last trace, and why they need another program than the call
        #: before, whose key stands beside.
        self.unknown = 0
        self.reason: tuple[str, Any] = "", None
        #: Whether no program of theirs can be kept for later calls.
        self.in_vain = False
        self.pending: list[Pending] = []


class WarmUp:
    """The calls of one function that run eagerly, by key."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self._keys: dict[Any, _Calls] = {}

    def clear(self) -> None:
        self._keys.clear()

    def pending(self, key: Any) -> Iterator[Pending]:
        """Programs that are being compiled for calls with this key."""
        found = self._keys.get(key)
        return iter(() if found is None else found.pending)

    def count(self, key: Any, reason: Callable[[], tuple[str, Any]]) -> str:
        """One more call that no program fits, being compiled or not: what it is to be.

        "eager"; "traced" and eager then; "compiled" now.
        """
        found = self._keys.get(key)
        if found is None:
            while len(self._keys) >= _MOST:
                del self._keys[next(iter(self._keys))]
            found = self._keys[key] = _Calls()
        if not found.unknown:
            found.reason = reason()
        found.unknown += 1
        if found.unknown > self.calls:
            if not found.in_vain:
                found.unknown = 0
            return "compiled"
        if found.in_vain or found.unknown < min(_TRACED_AT, self.calls):
            return "eager"
        return "traced"

    def reason(self, key: Any) -> tuple[str, Any]:
        """Why the first call counted needed a program of its own, and the key before."""
        return self._keys[key].reason

    def begin(self, key: Any, traced_as: Any, program: Any, work: Callable[[], None]) -> None:
        """Compile the program of the call counted last, for later calls with the key
        ``traced_as``."""
        calls = self._keys[key].unknown
        self._keys[key].unknown = 0
        found = self._keys.setdefault(traced_as, _Calls())
        found.pending.insert(0, Pending(program, Compilation(work), calls))

    def not_kept(self, key: Any, in_vain: bool) -> None:
        """The program of the call counted last was for that call alone; ``in_vain`` where so will
        be those of later ones: they are not traced to warm up."""
        found = self._keys[key]
        found.in_vain = in_vain
        found.unknown -= not in_vain

    def drop(self, key: Any, pending: Pending) -> None:
        """It is a program like others from now on, or could not be compiled."""
        self._keys[key].pending.remove(pending)


def like(array: Any) -> Any:
    """What stands for an array among the inputs of a program that is compiled before it is called:
    its aval, and where it has to be. It does not hold the array, which may be given up meanwhile.
    """
    if not isinstance(array, jax.Array):
        return array  # a number, whose type is part of the signature
    committed = getattr(array, "_committed", True)
    return jax.ShapeDtypeStruct(
        array.shape, array.dtype, weak_type=getattr(array, "weak_type", False),
        sharding=array.sharding if committed else None,
    )  # fmt: skip
