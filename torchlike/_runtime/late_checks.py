"""Words of compiled programs that say whether a check of values has failed, looked at late.

A program returns one small array beside its results (`_jit/compile/checks.py`). Waiting for it
would make every call wait for its results. So it is looked at where that costs nothing: when a
value is read on the host, at the next call of the program, when everything is waited for, and when
the process ends. The error is that of the eager operation, with the line where it stands.
"""

from __future__ import annotations

import atexit
import sys
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchlike._runtime.value_check import Site

#: Calls of a program on the CPU whose words nobody has looked at: for the first of more of them the
#: next call waits, so that an error is at most two calls late.
_MOST = 2


class Words:
    """The words of one program's calls that nobody has looked at yet."""

    __slots__ = ("_name", "_sites", "_undo", "_waits", "_words")

    def __init__(self, name: str, sites: Sequence[Site], waits: bool) -> None:
        """``sites``: what the numbers in a word stand for. ``waits``: whether calls may wait."""
        self._name = name
        self._sites = sites
        self._waits = waits
        self._words: deque[tuple[Any, Callable[[], None] | None]] = deque()

    def add(self, word: Any, undo: Callable[[], None] | None = None) -> None:
        """Take the word of a call; ``undo`` is called where it says that a check has failed."""
        self._words.append((word, undo))
        waiting[self] = None

    def look(self, wait: bool = False) -> None:
        """Raise the error of a word that is there; with ``wait``, of any."""
        words = self._words
        while words:
            must = wait or (self._waits and len(words) >= _MOST)
            if not (must or words[0][0].is_ready()):
                return
            try:
                word, undo = words.popleft()
            except IndexError:  # another thread was faster
                break
            self.read(word, undo, " late")
        waiting.pop(self, None)

    def read(self, word: Any, undo: Callable[[], None] | None = None, when: str = "") -> None:
        """Raise the error that a word stands for, if any."""
        numbers = np.asarray(word)
        if not numbers[0]:
            return
        if not self._words:
            waiting.pop(self, None)
        if undo is not None:
            undo()
        site = self._sites[numbers[0] - 1]
        raise site.raised(
            numbers[1:].tolist(),
            f"\n  Found{when} by a check inside {self._name}{site.line}, which runs compiled: "
            "parameters, buffers and optimizers are as they were before that call.",
        )


#: Whose calls have words that nobody has looked at.
waiting: dict[Words, None] = {}


def look(wait: bool = False) -> None:
    """Raise the error of a word that is there; with ``wait``, of any that a call was asked for."""
    for words in list(waiting):
        words.look(wait)


def _look_at_the_end() -> None:
    """Print the error of a call whose results nobody has read."""
    try:
        look(wait=True)
    except Exception as error:
        traceback.print_exception(error, file=sys.stderr)


atexit.register(_look_at_the_end)
