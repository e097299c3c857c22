"""Collectives under way: waiting for them, and saying who is missing from one that does not end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from torchlike._runtime.meeting import coordination
from torchlike.distributed.groups import ProcessGroup, World, behind, store_of
from torchlike.distributed.stores import DistBackendError, DistStoreError
from torchlike.futures import Future

#: Seconds for which a wait gives way to other threads and asks again at once; then it sleeps.
_BRISK = 3e-4
#: Longest sleep between two questions, and seconds after which the other ranks are asked.
_LONGEST, _LOOK = 0.005, 5.0


class Call:
    """One collective of a group: its number there, and what it was called with."""

    __slots__ = ("group", "number", "text")

    def __init__(self, group: ProcessGroup, text: str) -> None:
        group.calls += 1
        group.last = text
        self.group, self.number, self.text = group, group.calls, text

    def failed(self, why: str) -> DistBackendError:
        """The error of this collective on this rank."""
        return DistBackendError(
            f"[rank {self.group.ranks[self.group.rank()]}] {self.text}, number {self.number} of "
            f"group {self.group.group_name}: {why}"
        )


class Work:
    """A collective under way (``async_op=True``). Its results are in the tensors given, where
    whoever reads them waits; ``wait`` also says what went wrong."""

    def __init__(
        self, arrays: Sequence[Any] = (), call: Call | None = None, results: Sequence[Any] = (),
        finish: Callable[[float], None] | None = None, ready: Callable[[], bool] | None = None,
    ) -> None:  # fmt: skip
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
        """Whether it is done."""
        if self._finish is not None and self._ready is not None:
            return self._ready()
        return all(a.is_ready() for a in self._arrays)

    def is_success(self) -> bool:
        """Whether it is done."""
        return self.is_completed()

    def synchronize(self) -> None:
        """``wait``."""
        self.wait()

    def exception(self) -> Any:
        """None: ``wait`` raises."""
        return None

    def source_rank(self) -> int:
        """Known of receives only. RuntimeError."""
        raise RuntimeError("sourceRank() may only be called on work objects that correspond to a "
                           "recv or recv-from-any call.")  # fmt: skip

    def result(self) -> list[Any]:
        """The tensors that it wrote."""
        return list(self._results)

    def get_future(self) -> Future:
        """A future of the tensors that it wrote; waits for them."""
        self.wait()
        future = Future()
        future.set_result(self.result())
        return future


def settle(arrays: Sequence[Any], call: Call, seconds: float | None) -> None:
    """Wait for the results of a collective. DistBackendError where a process has ended, does not
    come within the time, or came with another call."""
    limit = call.group.timeout.total_seconds() if seconds is None else seconds
    begun = time.perf_counter()
    look = begun + _LOOK
    for array in arrays:
        while not array.is_ready():
            waited = time.perf_counter() - begun
            if waited < _BRISK:
                time.sleep(0)
                continue
            if waited > limit:
                coordination.give_up(call.text)
                raise call.failed(f"timed out after {limit:.0f} s; {behind(call.group)}")
            if begun + waited > look:
                look += _LOOK
                other = another_call(call)
                if other:
                    coordination.give_up(call.text)
                    raise call.failed(other)
            time.sleep(min(waited / 20, _LONGEST))
    try:
        for array in arrays:
            array.block_until_ready()
    except (RuntimeError, ValueError) as error:
        coordination.give_up(call.text)
        raise call.failed(f"{_reason(error)}; {behind(call.group)}") from None


def _reason(error: Exception) -> str:
    text = str(error)
    if "onnection closed" in text or "onnection reset" in text or "roken pipe" in text:
        return f"another rank has ended ({text.strip().splitlines()[0][:200]})"
    return text


def another_call(call: Call) -> str:
    """Which ranks are in another collective than this one, for an error; "" where none is known to
    be."""
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


def agree(call: Call) -> None:
    """Meet the other members, and see that they call the same.

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
            f"{group.group_name}. {each}"
        )
