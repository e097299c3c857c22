"""Says what to write instead where a capture refuses a tensor's value to Python."""

from __future__ import annotations

import linecache

#: What `PythonValues` advises where nothing better is known.
BRANCH = "torchlike.where or torchlike.cond"
_NUMBER = "the tensor itself, which arithmetic takes like a number, or return it"
_BY_QUESTION = {
    ".item()": _NUMBER,
    "float(tensor)": _NUMBER,
    "int(tensor)": _NUMBER,
    "complex(tensor)": _NUMBER,
    ".tolist()": "operations on the whole tensor, or return it",
    ".numpy()": "operations on the whole tensor, or return it",
    "a tensor used as a Python index": "indexing with the tensor (x[i]), or torchlike.gather",
    "an index": "indexing with the tensor (x[i]), or torchlike.gather",
    "format(tensor)": "print(tensor), which shows its shape, or return it and format it",
    "print(tensor)": "a returned tensor, which the caller prints",
}


def asked_and_instead(asked: str, instead: str, filename: str, line: int) -> tuple[str, str]:
    """Return what was asked for, by the statement that asks, and what to use instead."""
    if instead != BRANCH:
        return asked, instead
    if asked == "bool(tensor)" and is_assert(filename, line):
        return "an assert on a tensor's value", "an assert on a returned value"
    return asked, _BY_QUESTION.get(asked, BRANCH)


def is_assert(filename: str, line: int) -> bool:
    """Return whether a line, or the statement that it goes on with, is an ``assert``."""
    for number in range(line, max(line - 10, 0), -1):
        text = linecache.getline(filename, number).strip()
        if text.startswith(("assert ", "assert(")):
            return True
        before = linecache.getline(filename, number - 1).rstrip()
        if not before.endswith(("(", ",", "\\", "and", "or", "[", ">", "<", "==")):
            return False
    return False
