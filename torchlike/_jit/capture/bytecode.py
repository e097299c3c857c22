"""Reads from bytecode, which is made alike over the releases of Python (3.11 on), what code names.

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
import itertools
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
    """One instruction, with what it does to the stack.

    Attributes:
      starts_line: whether a line begins with it.
      called: whether a NULL is pushed with the value: what was loaded will be called.
      effect: by how much the stack is higher after it.
    """

    opname: str
    arg: int | None
    argval: Any
    argrepr: str
    starts_line: bool
    called: bool
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


# -------------------------------------------------------------------------------------------------
# Reads from a function's bytecode which globals, attributes and methods it names.


#: With one of these, code can reach an attribute whose name it does not spell as one.
_BY_NAME = frozenset(("getattr", "hasattr", "setattr", "delattr", "attrgetter", "methodcaller"))
_WHOLE = frozenset(("vars", "__dict__", "asdict", "astuple", "replace", "dir"))
_WHOLE_METHODS = frozenset(("__getattribute__", "__getstate__"))
_VARIABLE = frozenset(
    (
        "LOAD_FAST",
        "LOAD_DEREF",
        "LOAD_CLASSDEREF",
        "LOAD_FROM_DICT_OR_DEREF",
        "LOAD_GLOBAL",
        "LOAD_NAME",
        "LOAD_FROM_DICT_OR_GLOBALS",
    )
)
_GLOBAL = frozenset(
    ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL")
)
_ATTRIBUTE = frozenset(("LOAD_ATTR", "STORE_ATTR", "DELETE_ATTR", "IMPORT_FROM", "LOAD_SUPER_ATTR"))


class Reads(NamedTuple):
    """The names that one code object (not those nested in it) mentions.

    Attributes:
      attributes: attributes loaded as values, stored or deleted.
      loaded: those that are loaded, of any kind.
      methods: attributes loaded only to be called (``d.values()`` is not the attribute
        ``d.values``).
      probed: attributes that may be missing and matter for that: stored, or asked for by
        ``hasattr``.
      noted: those of them that may be a tensor's: stored in or asked of something else than the
        method's own object.
      whole: whether attributes of any name may be reached, of objects that cannot be told.
      whole_of: objects whose attributes may be reached by any name (``vars``, ``getattr`` with a
        computed one): the variable, and the attributes that lead from it to the object.
      compares: whether it asks if two values are one object, or if one is among others.
    """

    globals: tuple[str, ...]
    attributes: frozenset[str]
    loaded: frozenset[str]
    methods: frozenset[str]
    probed: frozenset[str]
    noted: frozenset[str]
    imports: tuple[str, ...]
    whole: bool
    whole_of: tuple[tuple[str, tuple[str, ...]], ...]
    compares: bool


def _strings(constants: tuple[object, ...]) -> set[str]:
    found: set[str] = set()
    for c in constants:
        if isinstance(c, str) and c.isidentifier():
            found.add(c)
        elif isinstance(c, tuple):
            found |= _strings(c)
    return found


@functools.lru_cache(maxsize=8192)
def reads_of(code: types.CodeType) -> Reads:
    """Return the names that ``code`` reads and stores. Cached: code objects are immutable."""
    names: dict[str, None] = {}
    attributes: set[str] = set()
    methods: set[str] = set()
    stored: set[str] = set()
    loaded: set[str] = set()
    imports: list[str] = []
    matches = False
    for i in instructions(code):
        if i.opname in _GLOBAL:
            names[i.argval] = None
        elif i.opname == "LOAD_METHOD":
            methods.add(i.argval)
        elif i.opname in _ATTRIBUTE:
            attributes.add(i.argval)
            if i.opname in ("STORE_ATTR", "DELETE_ATTR"):
                stored.add(i.argval)
            else:
                loaded.add(i.argval)
        elif i.opname == "IMPORT_NAME":
            imports.append(i.argval)
        elif i.opname == "MATCH_CLASS":
            matches = True
    mentioned = set(names) | attributes | methods
    if "globals" in names:
        names |= dict.fromkeys(_strings(code.co_consts))  # globals()["name"]
    by_name = bool(mentioned & _BY_NAME)
    if by_name or matches:
        spelled = _strings(code.co_consts)
        attributes |= spelled
        stored |= spelled
        loaded |= spelled
    if "AttributeError" in names:
        stored |= attributes
    # getattr with a name that is no constant: there are fewer strings than look-ups to know it by,
    # so any attribute of the object counts.
    found: list[_Path | None] = []
    if mentioned & _WHOLE_METHODS:
        found += _owners_asked(code)
    if by_name or mentioned & _WHOLE:
        found += _computed_names(code)
    whole, whole_of = None in found, {path for path in found if path is not None}
    noted = stored if "AttributeError" in names else set(_noted(code)) if stored else ()
    return Reads(
        tuple(names),
        frozenset(attributes),
        frozenset(loaded),
        frozenset(methods),
        frozenset(stored),
        frozenset(noted),
        tuple(imports),
        whole,
        tuple(whole_of),
        any(_compares(code)),
    )


@functools.lru_cache(maxsize=256)
def given_to(code: types.CodeType, offset: int) -> str | None:
    """Return the local variable that is the last argument of the call at ``offset``; None where
    that is none."""
    before: object = None
    for i in dis.get_instructions(code):
        if i.offset == offset:
            break
        if i.opname not in ("CACHE", "PRECALL", "EXTENDED_ARG"):
            named = "LOAD_FAST" in i.opname or "LOAD_DEREF" in i.opname
            before = i.argval if named else None
    found = before[-1] if isinstance(before, tuple) else before  # two by one instruction
    return found if isinstance(found, str) else None


def _compares(code: types.CodeType) -> Iterator[bool]:
    """Yield, for each ``is`` and ``in``, whether both sides may be tensors or hold some: neither is
    a constant."""
    steps = instructions(code)
    for k, i in enumerate(steps):
        if i.opname in ("IS_OP", "CONTAINS_OP"):
            sides = [step.opname for step in steps[max(0, k - 2) : k]]
            of_variable = sides[-1].startswith("LOAD_") and sides[0] == "LOAD_CONST"
            yield sides[-1] != "LOAD_CONST" and not of_variable


def _noted(code: types.CodeType) -> Iterator[str]:
    """Yield the attributes that ``code`` stores in, deletes from, or asks by a literal name of
    something else than ``self``."""
    steps = instructions(code)
    own = "self", ()
    for k, i in enumerate(steps):
        if i.opname in ("STORE_ATTR", "DELETE_ATTR"):
            if _path_before(steps, k) != own:
                yield i.argval
        elif i.argval in _BY_NAME and i.opname.startswith("LOAD_") and i.opname != "LOAD_CONST":
            path, after = _path(steps, k + 1)
            spelled = range(after, min(after + 2, len(steps)))
            if path is None:  # of what another expression gives
                yield from _strings(code.co_consts)
            elif path != own:
                for j in spelled:
                    name = steps[j].argval
                    if steps[j].opname == "LOAD_CONST" and isinstance(name, str):
                        yield name
                        break


_Path = tuple[str, tuple[str, ...]]


def _owners_asked(code: types.CodeType) -> Iterator[_Path | None]:
    """Yield whose attributes each ``super().__getattribute__(…)`` and ``object.__getattribute__(x,
    …)`` gives; None where that cannot be told."""
    steps = instructions(code)
    for k, i in enumerate(steps):
        if i.argval not in _WHOLE_METHODS or not i.opname.startswith("LOAD_"):
            continue
        before = [j.argval for j in steps[max(0, k - 3) : k]]
        is_super = i.opname.startswith("LOAD_SUPER") or (
            k > 1 and steps[k - 1].opname.startswith("CALL") and before[-2] == "super"
        )
        if is_super and code.co_argcount:
            yield code.co_varnames[0], ()
        elif k and (steps[k - 1].opname, before[-1]) == ("LOAD_GLOBAL", "object"):
            yield _path(steps, k + 1)[0]
        else:
            yield None


def _computed_names(code: types.CodeType) -> Iterator[_Path | None]:
    """Yield the first argument of each ``getattr(…)`` given a name that is not a literal, and of
    each ``vars(…)`` and its kin; None for one that is no variable or attribute of one."""
    steps = instructions(code)
    for k, i in enumerate(steps):
        whole = i.argval in _WHOLE
        if (
            not (whole or i.argval in _BY_NAME)
            or i.opname == "LOAD_CONST"
            or (not i.opname.startswith("LOAD_"))
        ):
            continue
        if i.argval == "__dict__":
            yield _path_before(steps, k)
            continue
        if whole and i.opname == "LOAD_METHOD" and k and steps[k - 1].opname != "LOAD_GLOBAL":
            continue  # text.replace(…) is a string's, dataclasses.replace(…) a module's
        rest = range(k + 1, len(steps))
        call = next((j for j in rest if steps[j].opname.startswith("CALL")), None)
        path, after = _path(steps, k + 1)
        if call is None:
            yield None
        elif whole:
            yield path if after == call else None
        else:
            # The name is the last argument, or the last but one when a default follows.
            name = steps[call - (2 if steps[call].arg == 3 else 1)]
            if name.opname != "LOAD_CONST" or not isinstance(name.argval, str):
                yield None if _goes_on(steps, after, call) else path


def _path(steps: tuple[Instruction, ...], at: int) -> tuple[_Path | None, int]:
    """Return the variable and attributes that the steps from ``at`` load, and the place behind
    them. None where something is called first: a NULL stands before it."""
    if at >= len(steps) or steps[at].opname not in _VARIABLE or (steps[at].called):
        return None, at
    root, names = steps[at].argval, []
    at += 1
    while at < len(steps) and steps[at].opname == "LOAD_ATTR" and (not steps[at].called):
        names.append(steps[at].argval)
        at += 1
    return (root, tuple(names)), at


def _goes_on(steps: tuple[Instruction, ...], at: int, end: int) -> bool:
    """Return whether the expression that was loaded goes on behind ``at`` (a method's call, an
    attribute of an element). Elements themselves are followed with their container."""
    if steps[at].opname == "LOAD_METHOD" or steps[at].called:
        return True
    between = steps[at : end + 1]
    branches = any("JUMP" in i.opname for i in between)
    depth = 1  # of the stack, above what lay there before the expression
    for a, b in itertools.pairwise(between):
        # Deeper, it is a subscript in the name's expression: getattr(x, fields[0].name).
        if (
            a.opname == "BINARY_SUBSCR"
            and (depth == 2 or branches)
            and (b.opname in ("LOAD_ATTR", "LOAD_METHOD"))
        ):
            return True
        if a.opname == "CALL":
            depth -= (a.arg or 0) + 1  # whatever release counts to it, or to PRECALL
        elif not branches:
            depth += a.effect
    return False


def _path_before(steps: tuple[Instruction, ...], at: int) -> _Path | None:
    """Return the variable and attributes that the steps before ``at`` load."""
    first = at - 1
    while first >= 0 and steps[first].opname == "LOAD_ATTR":
        first -= 1
    path, after = _path(steps, first) if first >= 0 else (None, 0)
    if path is None or after <= at:
        return None
    return path[0], path[1][: at - first - 1]


@functools.lru_cache(maxsize=8192)
def rebinds(code: types.CodeType) -> frozenset[str]:
    """Return the variables shared with other functions that ``code`` assigns or deletes."""
    return frozenset(
        i.argval for i in instructions(code) if i.opname in ("STORE_DEREF", "DELETE_DEREF")
    )


@functools.lru_cache(maxsize=256)
def lines_that_store(code: types.CodeType) -> tuple[int, ...]:
    """Return the lines of ``x[k] = …``, ``del x[k]`` and ``x += …``, in order."""
    found: dict[int, None] = {}
    for i in dis.get_instructions(code):
        adds = i.opname == "BINARY_OP" and "=" in i.argrepr
        if adds or i.opname in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
            line = i.positions.lineno if i.positions is not None else None
            found[line or code.co_firstlineno] = None
    return tuple(found)


@functools.lru_cache(maxsize=256)
def lines_that_change(code: types.CodeType, name: str) -> tuple[int, ...]:
    """Return the lines that bind or delete a name; where there are none, those that mention it."""
    bound: dict[int, None] = {}
    mentioned: dict[int, None] = {}
    for i in dis.get_instructions(code):
        if i.argval == name and i.opname != "LOAD_CONST":
            line = (i.positions.lineno if i.positions is not None else None) or code.co_firstlineno
            mentioned[line] = None
            if i.opname.startswith(("STORE_", "DELETE_")):
                bound[line] = None
    return tuple(bound or mentioned)


def mentions(code: types.CodeType, name: str) -> bool:
    """Return whether ``code`` mentions a name."""
    return name in (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)


@functools.lru_cache(maxsize=8192)
def loads(code: types.CodeType, name: str) -> bool:
    """Return whether ``code`` reads a global variable, or one shared with others, of a name."""
    return any(
        i.argval == name and i.opname in _VARIABLE and i.opname != "LOAD_FAST"
        for i in instructions(code)
    )


#: How a key is loaded that is a constant or a variable.
_SIMPLE = frozenset(("LOAD_CONST", "LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME"))
#: Methods that only put something in.
_RECORDING = frozenset(("append", "add", "extend", "update", "appendleft"))


@functools.lru_cache(maxsize=8192)
def only_records(code: types.CodeType, name: str, enters: bool = False) -> bool:
    """Return whether ``code`` uses a name for nothing but ``name += constant`` and, as a statement,
    ``name.append(…)`` or (``enters``) ``name[key] = …``: then no value that is computed can depend
    on it."""
    steps = [i for i in instructions(code) if i.opname != "PUSH_NULL"]
    counted = set()
    for k, i in enumerate(steps):
        # A closure's cell is handed to a nested function, whose own code is asked.
        if i.argval != name or i.opname in ("LOAD_CONST", "LOAD_CLOSURE", "COPY_FREE_VARS"):
            continue
        if i.opname.startswith("LOAD_"):
            stored = _counter_store(steps, k, name)
            if stored is None and not (_is_entry(steps, k) or (enters and _is_item(steps, k))):
                return False
            counted.add(stored)
        elif i.opname.startswith(("STORE_", "DELETE_")) and k not in counted:
            return False
    return True


@functools.lru_cache(maxsize=8192)
def only_adds(code: types.CodeType, name: str) -> bool:
    """Return whether each ``name op= constant`` that ``only_records`` finds is an addition or a
    subtraction."""
    steps = [i for i in instructions(code) if i.opname != "PUSH_NULL"]
    return all(
        steps[k + 2].argrepr in ("+=", "-=")
        for k, i in enumerate(steps)
        if i.argval == name and _counter_store(steps, k, name) is not None
    )


def _counter_store(steps: list[Instruction], k: int, name: str) -> int | None:
    """Return the place at which ``name += constant``, of a variable or an attribute loaded at
    ``k``, stores it; None where it does not."""
    following = steps[k + 1 : k + 5]
    names = [i.opname for i in following]
    if names[:2] != ["LOAD_CONST", "BINARY_OP"] or "=" not in following[1].argrepr:
        return None
    at = 3 if names[2:3] == ["SWAP"] else 2
    kinds = ("STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_NAME")
    found = at < len(following) and names[at] in kinds and following[at].argval == name
    return k + 1 + at if found else None


def _is_item(steps: list[Instruction], k: int) -> bool:
    """Return whether ``name[key] = …`` stores in a name that is loaded at ``k``."""
    following = [i.opname for i in steps[k + 1 : k + 3]]
    return len(following) == 2 and following[0] in _SIMPLE and following[1] == "STORE_SUBSCR"


def _is_entry(steps: list[Instruction], k: int) -> bool:
    """Return whether ``name.append(…)``, ``object.name.append(…)`` or ``name[key].append(…)`` is a
    whole statement."""
    first = k
    while first and steps[first].opname in ("LOAD_ATTR", "LOAD_METHOD"):
        first -= 1
    following = [i.opname for i in steps[k + 1 : k + 3]]
    # A statement begins: a line does, or (after a semicolon) the one before has ended.
    begins = ("POP_TOP", "STORE_", "COPY_FREE_VARS")  # the last: a function's first, in its line
    ended = first == 0 or steps[first - 1].opname.startswith(begins)
    if len(following) == 2 and following[0] in _SIMPLE and following[1] == "BINARY_SUBSCR":
        k += 2
    if (not steps[first].starts_line and not ended) or k + 1 >= len(steps):
        return False
    if steps[k + 1].argval not in _RECORDING:
        return False
    for j in range(k + 2, len(steps)):
        opname = steps[j].opname
        if opname == "POP_TOP":
            return steps[j - 1].opname == "CALL"
        if "JUMP" in opname or opname.startswith(("STORE", "RETURN", "YIELD")):
            return False
    return False
