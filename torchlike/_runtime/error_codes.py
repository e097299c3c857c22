"""Codes of errors that have a remedy: what a message says, and its page, ``docs/errors/CODE.md``.

A message gets its code where it is raised (`with_code`): it is found by the words that all messages
of that cause have in common. The page has code that raises it and code that does not; both are run
by tests/test_error_pages.py.
"""

from __future__ import annotations

#: Code -> the words by which a message is known. 1000: compiling; 2000: what is not there; 3000:
#: values.
CODES = {
    "TL1001": "needs a value while",
    "TL1002": "is part of the compiled graph whether it is taken or not",
    "TL1003": "where the test holds and",
    "TL1004": "so compiled code has no value for it afterwards",
    "TL1005": "before a turn and",
    "TL1006": "it would be done whether the code is taken or not",
    "TL1007": "the change would be made whether the code is taken or not",
    "TL1008": "cannot be compiled: nothing captures",
    "TL1009": "it would be set whether the code is taken or not",
    "TL1010": "of an argument cannot be compiled: it is another at each call",
    "TL1011": "each of which would be a condition in the graph",
    "TL2001": "Use instead: ",
    "TL3001": "takes integers of 64 bits",
}


def with_code(words: str) -> str:
    """Return an error's text with its code at the end, or as it is where it has none."""
    for code, phrase in CODES.items():
        if phrase in words:
            return words if f"[{code}]" in words else f"{words} [{code}]"
    return words
