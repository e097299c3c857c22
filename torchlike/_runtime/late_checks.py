"""Words of compiled programs that say whether a check of values has failed, looked at late.

A program returns one small array beside its results (`_jit/program/checks.py`). Waiting for it
would make every call wait for its results. So it is looked at where that costs nothing: when a
value is read on the host, at the next call of the program, when everything is waited for, and when
the process ends. The error is that of the eager operation, with the line where it stands.
"""

from __future__ import annotations

import sys
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchlike._runtime.patches import at_import
from torchlike._runtime.value_check import Site

#: The words that nobody has looked at, in the order of the calls, and whose they are. With each
#: stands what undoes what the call did on the host, where it did anything; and whether the call is
#: over: XLA says of one result after the other that it is there, and of the word perhaps last.
queue: deque[tuple[Any, Words, Callable[[], None] | None, bool]] = deque()
#: Where there are more words than the first number, a call on the CPU waits until the second is
#: left: an error is that late at most. To wait at each call for the eighth word before it hands the
#: processor to and fro: an MLP's step of 0.65 ms took 1.12 to 1.2 times as long as unchecked in 60
#: calls in a row, so 1.04 to 1.08 (1.0 in 200: XLA makes unchecked calls wait as well).
_MOST, _FEWER = 16, 8
_asarray = np.asarray


class Words:
    """Says what the words of one program mean.

    Attributes:
      in_parts: whether the program runs as several executables, so that a result may be there long
        before the word.
      raises: whether the user's own code raises where a check fails.
    """

    __slots__ = ("_name", "_sites", "in_parts", "raises", "waits")

    def __init__(self, name: str, sites: Sequence[Site], waits: bool) -> None:
        """Keep ``sites``, what the numbers in a word stand for, and ``waits``: whether others may
        wait for the word, as on the CPU."""
        self._name = name
        self._sites = sites
        self.waits = waits
        self.raises = any(site.is_users for site in sites)
        self.in_parts = False

    def add(self, word: Any, undo: Callable[[], None] | None = None, is_over: bool = False) -> None:
        """Take the word of a call; ``is_over`` where another result of it has been waited for."""
        queue.append((word, self, undo, is_over))

    def read(self, word: Any, undo: Callable[[], None] | None = None) -> None:
        """Raise the error that a word stands for, if any; ``undo`` is called before."""
        numbers = _asarray(word)
        if numbers[0]:
            if undo is not None:
                undo()
            raise self._error(numbers)

    def _error(self, numbers: np.ndarray) -> Exception:
        site = self._sites[numbers[0] - 1]
        found = f"\n  Found by a check inside {self._name}{site.line}, which is compiled: "
        return site.raised(
            numbers[1:].tolist(),
            f"{found}it had run to its end. Parameters, buffers and optimizers are as they were "
            "before that call.",
        )


def settle() -> None:
    """Raise the error of any call on the CPU, before something builds upon its results."""
    if queue:
        look(queue[0][1].waits)


def look(wait: bool = False, at_read: bool = False) -> None:
    """Raise the error of a word that is there; with ``wait``, of any that a call was asked for.

    ``at_read`` says that a value was just read on the host. The devices of one program end each by
    itself, so the word of a program over several devices of the CPU may come after the value, and
    so may that of a program that runs in parts: it is waited for.
    """
    are_many = len(queue) > _MOST
    while queue:
        word, words, _, is_over = queue[0]
        is_due = is_over or (are_many and len(queue) > _FEWER)
        is_due = is_due or (at_read and (words.in_parts or len(word.sharding.device_set) > 1))
        if not (wait or word.is_ready() or (words.waits and is_due)):
            return
        try:
            word, words, undo, _ = queue.popleft()
        except IndexError:  # another thread was faster
            return
        if _asarray(word)[0]:
            words.read(word, undo)


def _look_at_the_end() -> None:
    """Print the error of a call whose results nobody has read."""
    try:
        look(wait=True)
    except Exception as error:
        traceback.print_exception(error, file=sys.stderr)


at_import.LATE_CHECKS.at_exit(_look_at_the_end)
at_import.FORKS.at_fork(queue.clear)  # a child would wait for ever
