"""Bytecode as one list of instructions, whichever release of Python (3.11 and later) compiled it.

What differs between releases and is made alike here:

- pairs of local variables loaded or stored by one instruction (3.13) are two;
- loads that borrow their reference, and those of small integers (3.14), are plain loads;
- a method loaded to be called is ``LOAD_METHOD``, though from 3.12 on it is a ``LOAD_ATTR``;
- a subscript is ``BINARY_SUBSCR``, though 3.14 has it as a ``BINARY_OP``;
- the NULL below what is called: 3.11 and 3.12 push it before the expression that gives the callable
  (a ``PUSH_NULL`` of its own is kept), 3.13 and later behind it (then the load is marked).
"""

from __future__ import annotations

import dis
import functools
import re
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

_SKIPPED = frozenset(("CACHE", "PRECALL", "EXTENDED_ARG", "RESUME", "NOP", "NOT_TAKEN"))
_FAST = r"((?:LOAD|STORE)_FAST)(?:_BORROW|_CHECK)?"
_PAIR = re.compile(f"{_FAST}_{_FAST}")
_ONE = re.compile(_FAST)
_NULL_FOLLOWS = sys.version_info >= (3, 13)


class Instruction(NamedTuple):
    """One instruction, with what it does to the stack."""

    opname: str
    arg: int | None
    argval: Any
    argrepr: str
    #: Whether a line begins with it.
    starts_line: bool
    #: Whether a NULL is pushed with the value: what was loaded will be called.
    called: bool
    #: By how much the stack is higher after it.
    effect: int


@functools.lru_cache(maxsize=1024)
def instructions(code: types.CodeType) -> tuple[Instruction, ...]:
    """Return the instructions of ``code``, without those that do nothing to a value."""
    found: list[Instruction] = []
    for given in dis.get_instructions(code):
        if given.opname == "PUSH_NULL" and _NULL_FOLLOWS and found:
            found[-1] = found[-1]._replace(called=True, effect=found[-1].effect + 1)
        elif given.opname not in _SKIPPED:
            found += _alike(given)
    return tuple(found)


def _alike(given: dis.Instruction) -> Iterator[Instruction]:
    opname, argument = given.opname, given.arg if given.opcode >= dis.HAVE_ARGUMENT else None
    starts = bool(given.starts_line)  # a line's number up to 3.12, None where none begins
    if pair := _PAIR.fullmatch(opname):
        for name, variable, first in zip(pair.groups(), given.argval, (True, False), strict=True):
            effect = 1 if name == "LOAD_FAST" else -1
            yield Instruction(name, None, variable, variable, starts and first, False, effect)
        return
    if one := _ONE.fullmatch(opname):
        opname = one[1]
    elif opname == "LOAD_ATTR" and "NULL|self" in given.argrepr:
        opname = "LOAD_METHOD"
    elif opname == "LOAD_SMALL_INT":
        opname = "LOAD_CONST"
    elif opname == "BINARY_OP" and given.argrepr == "[]":
        opname = "BINARY_SUBSCR"
    called = "NULL" in given.argrepr and opname.startswith("LOAD_") and opname != "LOAD_CONST"
    effect = dis.stack_effect(given.opcode, argument)
    yield Instruction(opname, given.arg, given.argval, given.argrepr, starts, called, effect)
