"""Names a call's arguments for messages, and says how two calls nest them differently."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torchlike._runtime.trees import AGAIN, split_call


def parameter_names(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's positional parameters; of ``*args`` with their star at the
    end. Nothing for one that does not tell."""
    try:
        forward = getattr(fn, "forward", None)  # of a module
        parameters = inspect.signature(forward or fn).parameters.values()
    except (TypeError, ValueError):
        return ()
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in by_position]
    names += [f"*{p.name}" for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
    return tuple(names)


def defined_at(fn: Callable[..., Any]) -> str:
    """Return the line where a function, or a module's forward, begins: `` (train.py:40)``, after a
    space; "" where none does."""
    code = getattr(inspect.unwrap(getattr(fn, "forward", fn)), "__code__", None)
    if code is None:
        return ""
    return f" ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"


def leaf_names(structure: Any, parameters: Sequence[str]) -> list[str]:
    """Return the names of the leaves of a call: ``x``, ``cache['k'][0]``."""
    return [
        name for path, part in _arguments(structure, parameters) for name in _leaves(part, path)
    ]


def structure_difference(old: Any, new: Any, parameters: Sequence[str]) -> str:
    """Describe what differs first between the structures of two calls."""
    (n_old, names_old), (n_new, names_new) = (_shape(s) for s in (old, new))
    if n_old != n_new:
        return f"the number of positional arguments changed: {n_old} → {n_new}"
    if names_old != names_new:
        return f"the keywords of the call changed: {_list(names_old)} → {_list(names_new)}"
    for (path, a), (_, b) in zip(
        _arguments(old, parameters), _arguments(new, parameters), strict=True
    ):
        found = _difference(a, b, path)
        if found:
            return found
    return "the structure of the arguments changed"


def _shape(structure: Any) -> tuple[int, tuple[str, ...]]:
    positional, keywords = split_call(structure)
    return len(positional), tuple(keywords)


def _arguments(structure: Any, parameters: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield each argument's name and structure."""
    positional, keywords = split_call(structure)
    star = parameters[-1] if parameters and parameters[-1][0] == "*" else ""
    named = parameters[:-1] if star else parameters
    for i, part in enumerate(positional):
        if i < len(named):
            yield named[i], part
        else:
            yield f"{star[1:]}[{i - len(named)}]" if star else f"argument {i}", part
    yield from keywords.items()


def _leaves(structure: Any, path: str) -> Iterator[str]:
    if structure is None:
        yield path
        return
    for label, part in _parts(structure):
        yield from _leaves(part, path + label)


def _parts(structure: Any) -> Iterator[tuple[str, Any]]:
    """Yield the labels and structures of what is directly inside."""
    kind, parts = structure[0], structure[-1]
    if len(structure) == 4:  # a dictionary: its class, keys, factory and values
        yield from ((f"[{key!r}]", part) for key, part in zip(structure[1], parts, strict=True))
    elif hasattr(kind, "_fields"):
        yield from ((f".{name}", part) for name, part in zip(kind._fields, parts, strict=True))
    else:
        yield from ((f"[{i}]", part) for i, part in enumerate(parts))


def _difference(a: Any, b: Any, path: str) -> str:
    if a == b:
        return ""
    if a is None or b is None or a[0] is not b[0]:
        if a is not None and b is not None and AGAIN in (a[0], b[0]):
            is_now, own = ("is now", a) if b[0] is AGAIN else ("is no longer", b)
            same = _kind(own).removeprefix("a ")
            return f"argument `{path}` {is_now} the same {same} as another one"
        return f"argument `{path}` changed: {_kind(a)} → {_kind(b)}"
    if a[0] is AGAIN:
        return f"argument `{path}` is the same list or dictionary as another one than before"
    if len(a) == 4 and a[1] != b[1]:
        gone = [key for key in a[1] if key not in b[1]]
        new = [key for key in b[1] if key not in a[1]]
        changes = [
            f"{_list(keys)} {what}" for keys, what in ((gone, "is gone"), (new, "is new")) if keys
        ]
        return f"the keys of argument `{path}` changed: {', '.join(changes) or 'their order'}"
    if len(a[-1]) != len(b[-1]):
        return f"the length of argument `{path}` changed: {len(a[-1])} → {len(b[-1])}"
    for (label, x), (_, y) in zip(_parts(a), _parts(b), strict=True):
        found = _difference(x, y, path + label)
        if found:
            return found
    return f"the kind of argument `{path}` changed"


def _kind(structure: Any) -> str:
    if structure is None:
        return "a single value"
    kind = structure[0]
    name = getattr(kind, "__name__", None) or getattr(getattr(kind, "kind", None), "__name__", "")
    return f"a {name}" if name else "a list or dictionary"


def _list(items: Sequence[Any]) -> str:
    return ", ".join(map(repr, items)) if items else "none"
