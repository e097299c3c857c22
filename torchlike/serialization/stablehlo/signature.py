"""Arguments by position: one kind of call, however its arguments are given.

A saved program has no Python function to bind arguments to, so its file keeps the parameters' names
and plain defaults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

#: ``[name, has a default, the default]`` for each parameter.
Parameters = Sequence[Sequence[Any]]
_PLAIN = (bool, int, float, str, type(None))


def parameters_of(fn: Callable[..., Any]) -> list[list[Any]] | None:
    """Return the parameters of a function, or of a module's ``forward``; None where some cannot be
    given by position, or have a default that is no plain value."""
    forward = getattr(fn, "forward", fn)
    found: list[list[Any]] = []
    try:
        parameters = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):  # a builtin tells nothing
        return None
    for p in parameters:
        optional = p.default is not p.empty
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            return None
        if optional and type(p.default) not in _PLAIN:
            return None
        found.append([p.name, optional, p.default if optional else None])
    return found


def by_position(
    parameters: Parameters | None, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a call with all arguments by position, defaults filled in; as it is if it does not
    bind."""
    as_given = tuple(args), kwargs
    if parameters is None or len(args) > len(parameters):
        return as_given
    rest = dict(kwargs)
    whole = list(args)
    for name, optional, default in parameters[len(args) :]:
        if name in rest:
            whole.append(rest.pop(name))
        elif optional:
            whole.append(default)
        else:
            return as_given
    return as_given if rest else (tuple(whole), {})
