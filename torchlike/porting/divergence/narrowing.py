"""The operation by which one part of two runs differs, from what a ``Tracer`` notes."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from torchlike.porting.divergence.digests import all_apart, apart, describe, norm

Operations = Sequence[dict[str, Any]]

#: Below this part of the largest gradient of a pass, a gradient is rounding.
NOISE = 1e-5
#: A gradient that is less than this part of the largest is judged as one of that size: it may be
#: what is left of terms as large as the others, whose roundings it has.
PART_OF_WHOLE = 1e-2


def first_different(
    a: Operations, b: Operations, tolerance: float, acquitted: Operations = ()
) -> dict[str, Any] | None:
    """Return the first operation that is given the same and gives another result; without one, the
    first that one run alone makes: what follows from that is given something else.

    Args:
        acquitted: operations of ``a`` that are none.

    Returns:
        ``name``, ``line`` and ``says``, and as ``pair`` the operation's notes in both runs; None
        where each operation agrees to the tolerance.
    """
    alone: dict[str, Any] | None = None
    names = [[one["name"] for one in operations] for operations in (a, b)]
    matcher = difflib.SequenceMatcher(None, names[0], names[1], autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(a[i:i_end], b[j:j_end], strict=True):
                found = _pair(one, other, tolerance)
                if found is not None and not _is_among(one, acquitted):
                    return found
        elif alone is not None:
            continue
        elif tag == "replace":
            says = f"{', '.join(names[0][i:i_end])} here, {', '.join(names[1][j:j_end])} there"
            alone = _with_finding(a[i], says)
        else:
            here = tag == "delete"
            alone = _only(a[i] if here else b[j], here)
    return alone


def _only(one: dict[str, Any], here: bool) -> dict[str, Any]:
    says = f"{one['name']} {'here' if here else 'there'} only"
    return {"name": one["name"], "line": one["line"], "says": says}


def _pair(one: dict[str, Any], other: dict[str, Any], tolerance: float) -> dict[str, Any] | None:
    if all_apart(one["inputs"], other["inputs"]) > tolerance:
        return None
    outputs = one["outputs"], other["outputs"]
    if all_apart(*outputs, 1e-3 * norm(one["inputs"])) <= tolerance:
        return None
    says = f"same inputs, outputs {describe(*outputs)}"
    if one["arguments"] != other["arguments"]:
        says += f"; arguments ({', '.join(one['arguments'])}) and ({', '.join(other['arguments'])})"
    return {**_with_finding(one, says), "pair": (one, other)}


def _is_among(one: dict[str, Any], operations: Operations) -> bool:
    return any(one is other for other in operations)


def first_backward(
    a: dict[str, Any], b: dict[str, Any], tolerance: float, acquitted: Operations = ()
) -> dict[str, Any] | None:
    """Return the operation whose backward differs, the first that a backward pass comes to.

    Args:
        a: what a ``Tracer`` gives: operations of the forward, and the gradients of what they are
            given and give.
        acquitted: operations of ``a`` that are none.

    Returns:
        ``name``, ``line`` and ``says``, and where the pass goes through it in both runs ``pair``;
        None where none is found: gradients went by operations that
        were not noted.
    """
    pairs, alone = _matched(a["operations"], b["operations"])
    for one, other in sorted(pairs, key=lambda pair: pair[0]["is_module"]):  # the innermost first
        if _which(one["takes"]) == _which(other["takes"]) and (
            _which(one["gives"]) != _which(other["gives"])
        ):
            where = "here" if any(_which(one["gives"])) else "there"
            return _with_finding(one, f"its result requires grad {where} only")
    for one, here in alone:
        if one["direct"] and any(_which(one["takes"])) and not any(_which(one["gives"])):
            return _only(one, here)  # detach() and its like
    both = [g for run in (a, b) for g in run["gradients"] if g is not None]
    floor = PART_OF_WHOLE * norm(both)

    def differs(x: int | None, y: int | None) -> bool:
        one = None if x is None else a["gradients"][x]
        other = None if y is None else b["gradients"][y]
        if one is None or other is None:
            return one is not other
        return apart(one, other, floor) > tolerance

    uses = Counter(n for one in a["operations"] if not one["is_module"] for n in one["takes"])
    found: dict[str, Any] | None = None
    for one, other in reversed(pairs):
        given = list(zip(one["gives"], other["gives"], strict=False))
        if not given or all(n is None or a["gradients"][n] is None for n in one["gives"]):
            continue
        if any(differs(x, y) for x, y in given):
            continue
        for x, y in zip(one["takes"], other["takes"], strict=False):
            if differs(x, y) and not _is_among(one, acquitted):
                gradients = [
                    [] if n is None or run["gradients"][n] is None else [run["gradients"][n]]
                    for n, run in ((x, a), (y, b))
                ]
                says = "same gradient of its result, gradient of what it is given: "
                told = {**_with_finding(one, says + describe(*gradients)), "pair": (one, other)}
                if uses[x] <= 1:
                    return told
                found = found or told  # perhaps another that is given the same tensor
    return found


def _matched(a: Operations, b: Operations) -> tuple[list[tuple[Any, Any]], list[tuple[Any, bool]]]:
    """Return the operations of both runs, in pairs and in order, and those of one run alone: with
    whether it is the first."""
    names = [[one["name"] for one in operations] for operations in (a, b)]
    matcher = difflib.SequenceMatcher(None, names[0], names[1], autojunk=False)
    pairs: list[tuple[Any, Any]] = []
    alone: list[tuple[Any, bool]] = []
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            pairs += zip(a[i:i_end], b[j:j_end], strict=True)
        else:
            alone += [(one, True) for one in a[i:i_end]] + [(one, False) for one in b[j:j_end]]
    return pairs, alone


def _which(places: list[int | None]) -> list[bool]:
    return [place is not None for place in places]


def _with_finding(one: dict[str, Any], says: str) -> dict[str, Any]:
    return {"name": one["name"], "line": one["line"], "says": says}


def of_update(
    a: Operations,
    b: Operations,
    optimizer: str,
    line: str,
    tolerance: float,
    acquitted: Operations = (),
) -> dict[str, Any] | None:
    """Return the operation of an update that differs: one of the user's own where the optimizer, or
    a hook of it, is; else the update itself, which is one operation. None where ``acquitted``
    explain it."""
    found = first_different(list(_direct(a)), list(_direct(b)), tolerance, acquitted)
    if found is not None or acquitted:
        return found
    return {
        "name": f"{optimizer}.step",
        "line": line,
        "says": "same parameters, gradients, options and state, another update",
    }


def _direct(operations: Operations) -> Iterator[dict[str, Any]]:
    return (one for one in operations if one["direct"])
