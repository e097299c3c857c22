"""``torch.futures``: results that are there later, and callbacks on them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Future(Generic[T]):
    """A result that another thread sets, waited for with ``wait``.

    ``devices`` is accepted: values are complete when somebody reads them.
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._there = threading.Event()
        self._lock = threading.Lock()
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Return whether there is a result or an exception."""
        return self._there.is_set()

    def wait(self) -> T:
        """Wait for the result and return it; its exception is raised."""
        self._there.wait()
        return self.value()

    def value(self) -> T:
        """Return the result that is there; its exception is raised. RuntimeError before that."""
        if not self.done():
            raise RuntimeError("completed() is False: the Future has no value yet; use wait()")
        if self._error is not None:
            raise self._error
        return self._result

    def _complete(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._result, self._error = result, error
            self._there.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            self._call(callback)

    def _call(self, callback: Callable[[Future[T]], Any]) -> None:
        """Run a callback; its error is logged and reaches nobody else, as in PyTorch."""
        try:
            callback(self)
        except Exception:
            _log.exception("a callback of a Future failed")

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def set_result(self, result: T) -> None:
        """Give the result, and run the callbacks. RuntimeError the second time."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Give an exception in its place. AssertionError for what is none."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._complete(None, result)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call it with this Future when that is done, or at once. An error in it is logged."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        self._call(callback)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """Return a Future of what the callback gives when this one is done. An exception in it
        becomes that Future's, a RuntimeError that names it."""
        after: Future[Any] = Future()

        def run(self: Future[T]) -> None:
            try:
                result = callback(self)
            except Exception as error:
                told = RuntimeError(
                    "Got the following error when running the callback: "
                    f"{type(error).__name__}: {error}"
                )
                told.__cause__ = error
                after.set_exception(told)
            else:
                after.set_result(result)

        self.add_done_callback(run)
        return after


def collect_all(futures: Iterable[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a Future of the list of these, done when all are; with an exception of theirs, if
    any."""
    every = list(futures)
    together: Future[list[Future[Any]]] = Future()
    left = [len(every)]
    lock = threading.Lock()

    def one_is_done(_: Any) -> None:
        with lock:
            left[0] -= 1
            if left[0] > 0:
                return
        errors = [f._error for f in every if f._error is not None]
        if errors:
            together.set_exception(errors[0])
        else:
            together.set_result(every)

    for future in every:
        future.add_done_callback(one_is_done)
    if not every:
        together.set_result(every)
    return together


def wait_all(futures: Iterable[Future[Any]]) -> list[Any]:
    """Wait for all, and return their results; raises an exception of theirs, if any."""
    return [f.wait() for f in collect_all(futures).wait()]
