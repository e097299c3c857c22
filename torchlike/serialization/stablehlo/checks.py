"""Checks of values in a saved program: what the numbers of its word stand for, as plain data.

A program that checks values gives its word behind its other results (`_jit/program/checks.py`). The
file beside it says which errors these are: a name out of a closed list, and a text with places for
numbers. A text of a file is not handed to ``str.format`` as it is, whose fields reach attributes
and ask for any width.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import core

from torchlike._core import modes
from torchlike._ops.linalg.decompositions import LinAlgError
from torchlike._runtime import targets, value_check
from torchlike._runtime.environment_variables import CHECKS
from torchlike._runtime.late_checks import Words
from torchlike._runtime.value_check import DETAILS, Site

#: What a check may raise, by name.
_ERRORS = {
    error.__name__: error
    for error in (
        Exception,
        ArithmeticError,
        AssertionError,
        IndexError,
        LinAlgError,
        NotImplementedError,
        OverflowError,
        RuntimeError,
        TypeError,
        ValueError,
        ZeroDivisionError,
    )
}
#: How numbers may stand in a text.
_FORMATS = ("", "g")


def are_wanted(checks: bool | None) -> bool:
    """True if a program is to check values, for what the caller says: None is the default."""
    return not CHECKS.get() if checks is None else checks


def described(sites: Sequence[Site]) -> list[dict[str, Any]]:
    """Return what checks raise, as plain data."""
    return [
        {
            "error": next(c.__name__ for c in s.error.__mro__ if c.__name__ in _ERRORS),
            "words": s.words,
            "floats": list(s.floats),
            "line": s.line,
        }
        for s in sites
    ]


def sites_of(described: Any) -> list[Site]:
    """Return the checks that a file describes. RuntimeError for what is no description of them."""
    if not isinstance(described, list):
        raise _damaged(described)
    return [_site(said) for said in described]


def _site(said: Any) -> Site:
    if not isinstance(said, dict) or said.keys() != {"error", "words", "floats", "line"}:
        raise _damaged(said)
    error, words, floats, line = said["error"], said["words"], said["floats"], said["line"]
    is_text = isinstance(error, str) and isinstance(words, str) and isinstance(line, str)
    if not is_text or error not in _ERRORS or not isinstance(floats, list):
        raise _damaged(said)
    if len(floats) > DETAILS or not all(isinstance(x, bool) for x in floats):
        raise _damaged(said)
    try:
        fields = [x[1:] for x in string.Formatter().parse(words) if x[1] is not None]
    except ValueError:
        raise _damaged(said) from None
    numbers = [str(i) for i in range(len(floats))]
    if any(n not in numbers or f not in _FORMATS or c is not None for n, f, c in fields):
        raise _damaged(said)
    return Site(_ERRORS[error], words, tuple(floats), line)


def _damaged(said: Any) -> RuntimeError:
    return RuntimeError(f"the file is damaged: {said!r} is no check of values")


class SavedWords(Words):
    """What the words of a saved program mean."""

    __slots__ = ()

    def _error(self, numbers: np.ndarray) -> Exception:
        if not 1 <= int(numbers[0]) <= len(self._sites):
            return RuntimeError(
                f"{self._name} gives a word {numbers[0]} that its file does not explain"
            )
        return super()._error(numbers)


class Checks:
    """The checks of one saved program, whose calls give words.

    ``save_stablehlo`` and ``to_jax`` give them with ``checks=True``.

    Example:
      >>> import jax.numpy as jnp
      >>> example = (torch.tensor([0]),)
      >>> program = torchlike.export.to_jax(torch.nn.Embedding(4, 2), example, checks=True)
      >>> def call(index):
      ...     return program.exported.call(program.parameters, program.buffers, jnp.array([index]))
      >>> program.checks.raise_for(call(3)[1])
      >>> try:
      ...     program.checks.raise_for(call(4)[1])
      ... except IndexError as error:
      ...     print(str(error).splitlines()[0])
      index out of range in self
    """

    def __init__(self, name: str, sites: Sequence[Site]) -> None:
        self.sites = sites
        self._words = SavedWords(name, sites, targets.runs_on_cpu())

    def take(self, word: Any, wait: bool = False) -> None:
        """Take the word of a call, to be looked at later; at once with ``wait``. In a capture it
        becomes checks of the program that is made."""
        if isinstance(word, core.Tracer):
            self._bind(word)
        elif wait:
            self._words.read(word)
        else:
            self._words.add(word)

    def raise_for(self, word: Any) -> None:
        """Raise the error that a word of the program stands for, if any.

        Args:
          word: an array of four integers: the number of the check that failed first (from 1 on; 0
            for none), and the numbers of its text.

        Raises:
          IndexError, RuntimeError, …: the eager error, with its text.
        """
        self._words.read(word)

    def described(self) -> list[dict[str, Any]]:
        """Return the checks as plain data.

        Returns:
          a dictionary for each, in the order of their numbers: the error, its text (in which
          ``{0}`` is the word's second number), which of these numbers are the bits of a float64,
          and the line.
        """
        return described(self.sites)

    def _bind(self, word: jax.Array) -> None:
        capture = modes.running_capture()
        if not capture.checks_values:
            return
        capture.note_check()
        for i, site in enumerate(self.sites):
            details = [word[1 + k] for k in range(len(site.floats))]
            value_check.bind(word[0] == i + 1, details, site)


def is_word(aval: Any) -> bool:
    """True if a program's result has a word's size and dtype."""
    return tuple(aval.shape) == (1 + DETAILS,) and aval.dtype == np.int64
