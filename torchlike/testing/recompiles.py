"""``assert_no_recompile``: what was compiled stays compiled."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any

from torchlike._jit.call.function import functions
from torchlike._jit.call.recompile_messages import logger
from torchlike._jit.call.tracer import watchers
from torchlike._jit.program.program import Draft
from torchlike.jit._optimized_module import uncompiled


class _Watch(logging.Handler):
    """Hears of each program that is made, and why."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        #: By the code of a function: a new ``torchlike.jit`` of the same code compiles it again.
        self.made: dict[Any, list[str]] = {}
        self.names: dict[Any, str] = {}
        self._reasons: dict[str, list[str]] = {}
        self._known = {_code(f._fn) for f in functions() if f.compiles}
        self._fallen = {id(f): len(f.fell_back) for f in functions()}

    def compiled(self, fn: Any, name: str, program: Draft) -> None:
        key = _code(fn)
        why = "" if program.cacheable else f"it cannot be kept: {program.why_not}"
        self.names[key] = name
        self.made.setdefault(key, []).append(why)

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, tuple) and len(record.args) == 2:
            name, reason = record.args
            self._reasons.setdefault(str(name), []).append(str(reason))

    def complaints(self) -> list[str]:
        """Return a line for each function that was compiled again, or now runs eagerly."""
        found = []
        for key, reasons in self.made.items():
            again = len(reasons) - (key not in self._known)
            if again > 0:
                name = self.names[key]
                why = [r for r in dict.fromkeys((*self._reasons.get(name, ()), *reasons)) if r]
                said = "; ".join(why) or "it is given to torchlike.jit anew each time"
                times = "once more" if again == 1 else f"{again} times more"
                found.append(f"{name} was compiled {times}: {said}")
        for f in functions():
            if len(f.fell_back) > self._fallen.get(id(f), 0):
                found.append(f"{f._name} runs eagerly: {list(f.fell_back.values())[-1]}")
        return found


def _code(fn: Any) -> Any:
    """Return a key that two functions have in common that one line defines; a module is itself."""
    fn = uncompiled(fn)
    code = getattr(fn, "__code__", None)
    return id(fn) if code is None else code


@contextlib.contextmanager
def _watched() -> Iterator[None]:
    watch, level = _Watch(), logger.level
    watchers.append(watch.compiled)
    logger.addHandler(watch)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        watchers.remove(watch.compiled)
        logger.removeHandler(watch)
        logger.setLevel(level)
    if complaints := watch.complaints():
        raise AssertionError("\n".join(complaints))


def assert_no_recompile(fn: Callable[..., Any] | None = None) -> Any:
    """Raise AssertionError where a function of ``torchlike.jit`` or ``torch.compile`` is compiled
    again.

    A context manager, for all functions that the block calls, or a wrapper of the function that
    makes the calls. A function that has not been compiled before may be so once in the block. One
    that is given to ``torchlike.jit`` anew counts as the same, by its code. The error names each
    function and what changed, as TORCHLIKE_LOGS=recompiles does; a function that falls back to
    eager execution in the block is an error too. Operations of eager code compile for each shape
    and do not count.

    Args:
      fn: the function that makes the calls; None for a `with` block.

    Returns:
      the wrapped function, or the context manager.

    Raises:
      AssertionError: at the end of the block or call, for what was compiled again in it.

    Example:
      >>> step = torchlike.jit(lambda x: x + 1)
      >>> with torchlike.testing.assert_no_recompile():
      ...     for value in (1.0, 2.0):
      ...         y = step(torch.full((3,), value))
    """
    if fn is None:
        return _watched()

    @functools.wraps(fn)
    def watched(*args: Any, **kwargs: Any) -> Any:
        with _watched():
            return fn(*args, **kwargs)

    return watched
