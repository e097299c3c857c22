"""The operation by which one part of two runs differs, from what a ``Tracer`` notes."""

from __future__ import annotations

import difflib
from typing import Any

from torchlike.porting.divergence.digests import all_apart, describe, norm

Operations = list[dict[str, Any]]


def first_different(a: Operations, b: Operations, tolerance: float) -> dict[str, Any] | None:
    """The first operation that is given the same and gives another, or that one run alone makes.

    Returns:
        ``name``, ``line`` and ``says``; None where each operation agrees to the tolerance.
    """
    alone: dict[str, Any] | None = None
    names = [[one["name"] for one in operations] for operations in (a, b)]
    matcher = difflib.SequenceMatcher(None, names[0], names[1], autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            for one, other in zip(a[i:i_end], b[j:j_end], strict=True):
                found = _pair(one, other, tolerance, alone)
                if found is not None:
                    return found
        elif tag == "replace":
            says = f"{', '.join(names[0][i:i_end])} here, {', '.join(names[1][j:j_end])} there"
            return {"name": names[0][i], "line": a[i]["line"], "says": says}
        elif alone is None:
            here = tag == "delete"
            one = a[i] if here else b[j]
            says = f"{one['name']} {'here' if here else 'there'} only"
            alone = {"name": one["name"], "line": one["line"], "says": says}
    return alone


def _pair(
    one: dict[str, Any], other: dict[str, Any], tolerance: float, alone: dict[str, Any] | None
) -> dict[str, Any] | None:
    if all_apart(one["inputs"], other["inputs"]) > tolerance:
        return alone  # which made what this is given; without it, values that no operation made
    outputs = one["outputs"], other["outputs"]
    if all_apart(*outputs, 1e-3 * norm(one["inputs"])) <= tolerance:
        return None
    says = f"same inputs, outputs {describe(*outputs)}"
    if one["arguments"] != other["arguments"]:
        says += f"; arguments ({', '.join(one['arguments'])}) and ({', '.join(other['arguments'])})"
    return {"name": one["name"], "line": one["line"], "says": says}
