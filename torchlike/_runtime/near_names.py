"""What was meant by a name that does not exist."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Sequence, Set

#: Names of one program that are as alike as this are a slip of the fingers; less is another name.
_ALIKE = 0.75
#: By how many letters a slip makes a name longer or shorter.
_LONGER = 2


def near_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like ``name``; None where none is close.

    Cheap enough (some 0.1 ms for a thousand names) for errors that are caught.
    """
    private = name.startswith("_")
    near = [
        one
        for one in names
        if abs(len(one) - len(name)) <= _LONGER
        and one.startswith("_") == private
        and len(set(name) ^ set(one)) <= 2 * _LONGER
    ]
    found = difflib.get_close_matches(name, near, n=1, cutoff=_ALIKE)
    return found[0] if found else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return ``. Did you mean: 'softmax'?`` for a message to end with; "" where none is close."""
    near = near_name(name, names)
    return "" if near is None else f". Did you mean: '{near}'?"


def unknown_argument(
    function: str, key: str, names: Sequence[str], defaults: Sequence[object], positional: int
) -> TypeError:
    """Return the error of a keyword argument that there is not, with those that there are; the
    first ``positional`` of them need no name."""
    told = []
    for i, (name, default) in enumerate(zip(names, defaults, strict=True)):
        told += ["*"] if i == positional else []
        told.append(name if default is inspect.Parameter.empty else f"{name}={default!r}")
    return TypeError(
        f"{function}() got an unexpected keyword argument '{key}'{did_you_mean(key, names)}\n"
        f"Its signature: {function}({', '.join(told)})"
    )


def tell_signature(error: Exception, fn: Callable[..., object], unknown: Set[str]) -> None:
    """Let Python's error of a call with ``unknown`` arguments, which ``fn`` does not have, tell
    those that it has. Others stay as they are."""
    name, _, problem = str(error).partition("()") if type(error) is TypeError else ("", "", "")
    _, said, rest = problem.partition(" got an unexpected keyword argument '")
    key = rest.partition("'")[0]
    if not said or key not in unknown or name.rpartition(".")[2] != fn.__name__:
        return
    told = [
        p
        for p in inspect.signature(fn).parameters.values()
        if p.kind is not p.VAR_KEYWORD and not p.name.startswith("_") and p.name != "args"
    ]
    if not told:  # a definition that takes them by hand
        return
    names = [f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in told]
    positional = sum(p.kind is not p.KEYWORD_ONLY for p in told)
    if any(p.kind is p.VAR_POSITIONAL for p in told):
        positional = -1  # what comes behind it needs no star of its own
    error.args = unknown_argument(name, key, names, [p.default for p in told], positional).args
