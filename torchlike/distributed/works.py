"""Collectives under way: waiting for them, and saying who is missing from one that does not end."""

from __future__ import annotations

import functools
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import jax

from torchlike._core import modes
from torchlike._runtime.launching.failures import CONSEQUENCE
from torchlike._runtime.rendezvous import coordination
from torchlike.distributed.groups import ProcessGroup, World, behind, store_of
from torchlike.distributed.stores import DistBackendError, DistStoreError
from torchlike.futures import Future

#: Seconds after which the other ranks are asked what they call, and how often again.
_LOOK = 5.0
#: Seconds for which a result is asked for again and again before another thread waits for it.
_SOON = 1e-3
#: Leaves the processor to a thread that can go on; not all systems have a call for that alone.
_give_way = getattr(os, "sched_yield", functools.partial(time.sleep, 0))


def refuse_capture(what: str) -> None:
    """Raise JitCaptureError inside a jitted function: it would happen once, while that is
    captured."""
    modes.running_capture().refuse(
        f"torch.distributed.{what} between processes", "it outside of the compiled step"
    )


class CollectiveCall:
    """One collective of a group: its number there, and what it was called with."""

    __slots__ = ("group", "number", "text")

    def __init__(self, group: ProcessGroup, text: str) -> None:
        refuse_capture(text.partition("(")[0])
        group.calls += 1
        group.last = text
        self.group, self.number, self.text = group, group.calls, text

    def failed(self, why: str) -> DistBackendError:
        """Return the error of this collective on this rank."""
        return DistBackendError(
            f"[rank {self.group.ranks[self.group.rank()]}] {self.text}, number {self.number} of "
            f"group {self.group.group_name}: {why}"
        )


class Work:
    """A collective under way (``async_op=True``). Its results are in the tensors given, where
    whoever reads them waits; ``wait`` also says what went wrong."""

    def __init__(
        self,
        arrays: Sequence[Any] = (),
        call: CollectiveCall | None = None,
        results: Sequence[Any] = (),
        finish: Callable[[float], None] | None = None,
        ready: Callable[[], bool] | None = None,
    ) -> None:
        self._arrays, self._call, self._results = list(arrays), call, list(results)
        self._finish, self._ready = finish, ready

    def wait(self, timeout: Any = None) -> bool:
        """True once it is done. DistBackendError where it failed, or after the timeout (the
        group's, or the one given)."""
        seconds = timeout.total_seconds() if hasattr(timeout, "total_seconds") else timeout
        if self._arrays:
            assert self._call is not None
            settle(self._arrays, self._call, seconds)
            self._arrays = []
        if self._finish is not None:
            finish, self._finish = self._finish, None
            finish(seconds)
        return True

    def is_completed(self) -> bool:
        """Return whether the work is done."""
        if self._finish is not None and self._ready is not None:
            return self._ready()
        return all(a.is_ready() for a in self._arrays)

    def is_success(self) -> bool:
        """Return whether the work is done."""
        return self.is_completed()

    def synchronize(self) -> None:
        """Wait, as ``wait`` does."""
        self.wait()

    def exception(self) -> None:
        """Return None: ``wait`` raises."""
        return

    def source_rank(self) -> int:
        """Raise RuntimeError: the source is known of receives only."""
        raise RuntimeError(
            "sourceRank() may only be called on work objects that correspond to a "
            "recv or recv-from-any call."
        )

    def result(self) -> list[Any]:
        """Return the tensors that the work wrote."""
        return list(self._results)

    def get_future(self) -> Future[Any]:
        """Wait for the work, and return a future of the tensors that it wrote."""
        self.wait()
        future: Future[Any] = Future()
        future.set_result(self.result())
        return future


class _Waiter:
    """A thread that waits in XLA, so that whoever asked can give up, and hears of signals.

    Asking again and again whether an array is ready, with sleeps between, takes the core from the
    threads that are to make it ready: 4 KB took twice as long."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True, name="torchlike collectives").start()

    def _run(self) -> None:
        while True:
            arrays, done, errors = self._asked.get()
            errors += _waited(arrays)
            del arrays
            done.release()

    def ask(self, arrays: Sequence[Any]) -> tuple[Any, list[Exception]]:
        """Have the waiter wait for arrays, and return a lock that is free once they are there, and
        what went wrong."""
        done, errors = threading.Lock(), []
        done.acquire()
        self._asked.put((arrays, done, errors))
        return done, errors


_waiters: list[_Waiter] = []


def settle(arrays: Sequence[Any], call: CollectiveCall, seconds: float | None) -> None:
    """Wait for the results of a collective. DistBackendError where a process has ended, does not
    come within the time, or came with another call."""
    errors = _waited(arrays) if _come_soon(arrays) else _settled(arrays, call, seconds)
    if errors:
        coordination.give_up(call.text)
        raise call.failed(f"{_reason(errors[0])}; {behind(call.group)}") from None


def _come_soon(arrays: Sequence[Any]) -> bool:
    """Return whether results are there within `_SOON`, waiting as long as that. The processor is
    left to whatever thread can go on, so that it takes nothing from those that make them; to wake
    the waiter, and this thread again, takes 60 us."""
    begun = time.perf_counter()
    for array in arrays:
        while not array.is_ready():
            if time.perf_counter() - begun > _SOON:
                return False
            _give_way()
    return True


def _waited(arrays: Sequence[Any]) -> list[Exception]:
    """Wait in XLA, and return what went wrong."""
    try:
        jax.block_until_ready(arrays)
    except Exception as error:
        return [error]
    return []


def _settled(arrays: Sequence[Any], call: CollectiveCall, seconds: float | None) -> list[Exception]:
    """Wait in another thread, and return what went wrong. Errors as of ``settle``, but for those of
    XLA."""
    limit = call.group.timeout.total_seconds() if seconds is None else seconds
    if not _waiters:
        _waiters.append(_Waiter())
    done, errors = _waiters[0].ask(arrays)
    deadline = time.monotonic() + limit
    while not done.acquire(timeout=max(0.0, min(_LOOK, deadline - time.monotonic()))):
        other = another_call(call)
        if not other and time.monotonic() < deadline:
            continue
        coordination.give_up(call.text)
        _waiters.clear()  # it will wait for ever
        raise call.failed(other or f"timed out after {limit:.0f} s; {behind(call.group)}")
    return errors


def _reason(error: Exception) -> str:
    text = str(error)
    if "onnection closed" in text or "onnection reset" in text or "roken pipe" in text:
        return f"{CONSEQUENCE} ({text.strip().splitlines()[0][:200]})"
    return text


def another_call(call: CollectiveCall) -> str:
    """Ask which ranks are in another collective than this one, and return that for an error; ""
    where none is known to be."""
    box, group = World.mailbox, call.group
    if box is None:
        return ""
    own = group.ranks[group.rank()]
    for rank in group.ranks:
        if rank == own:
            continue
        state = box.ask(rank, 1.0)
        if state is None:
            continue
        number, text = state.get(str(group.number), [0, "none"])
        if number == call.number and text != call.text:
            return f"rank {rank} called {text} where this rank called {call.text}"
    return ""


def agree(call: CollectiveCall, advice: str = "") -> None:
    """Meet the other members, and see that they call the same. ``advice``: what else an error says.

    Raises:
        RuntimeError: a rank calls something else, on all ranks that are here.
        DistBackendError: a rank did not come within the group's timeout.
    """
    group = call.group
    store = store_of(group)
    number = group.checks
    group.checks += 1
    keys = [f"agree{number}/{r}" for r in range(group.size())]
    store.set(keys[group.rank()], call.text)
    begun = time.monotonic()
    limit = group.timeout.total_seconds()
    while True:
        left = limit - (time.monotonic() - begun)
        try:
            store.wait(keys, timedelta(seconds=max(0.001, min(left, _LOOK))))
            break
        except DistStoreError:
            other = another_call(call)
            if other:
                raise call.failed(other) from None
            if left <= 0:
                missing = [int(k.rpartition("/")[2]) for k in store._missing(keys)]
                ranks = ", ".join(str(group.ranks[r]) for r in missing)
                raise call.failed(
                    f"timed out after {limit:.0f} s: rank {ranks} did not come; {behind(group)}"
                ) from None
    said = [value.decode() for value in store.multi_get(keys)]
    if number:
        store.delete_key(f"agree{number - 1}/{group.rank()}")
    if len(set(said)) > 1:
        each = "; ".join(f"rank {group.ranks[r]}: {text}" for r, text in enumerate(said))
        raise RuntimeError(
            f"Detected mismatch between collectives on ranks, number {call.number} of group "
            f"{group.group_name}. {each}{advice}"
        )
