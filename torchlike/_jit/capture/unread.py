"""A string among the arguments of which a capture finds out whether the body reads it.

Batches carry names, paths and identifiers, other ones at each call, and few steps look at them. A
string is a part of a call's key at first; once it has changed, an `UnreadString` stands for it
while the body is traced. Where that is only handed on, the program is for any string.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn


class StringRead(Exception):
    """The body reads a string, or keeps it: the program is for that string alone."""


class UnreadString:
    """Stands for a string; whatever asks for more than its class raises `StringRead`.

    Attributes:
      leaf: which of the leaves of the call's arguments it stands for.
      was_read: whether something has asked, which may have caught the error.
    """

    __slots__ = ("_holders", "leaf", "was_read")

    def __init__(self, leaf: int) -> None:
        self.leaf = leaf
        self.was_read = False
        self._holders = 0

    @property
    def __class__(self) -> type:  # a string's class is a part of the key
        return str

    def read(self, *_: Any) -> NoReturn:
        """Take note that the string is needed, and end the trace."""
        self.was_read = True
        raise StringRead("a string among the arguments is read")

    def __getattr__(self, name: str) -> Any:
        self.read()

    def count_holders(self) -> None:
        """Count who refers to it, before the body runs."""
        self._holders = sys.getrefcount(self)

    def is_needed(self) -> bool:
        """Return whether it was read, or is referred to by more than before the body ran."""
        return self.was_read or sys.getrefcount(self) > self._holders


_ASKING = """
add bool bytes call contains complex delitem deepcopy copy divmod enter eq exit float floordiv
format fspath ge getitem gt hash index int iter le len lt mod mul ne neg next radd reduce reduce_ex
repr reversed rmod rmul round setitem str sub truediv
"""
for _name in _ASKING.split():
    setattr(UnreadString, f"__{_name}__", UnreadString.read)
