"""Source of graphs for people: with the kind and shape of each value, and where it came from."""

from __future__ import annotations

import re
from typing import Any

from torchlike._compat.symbolic import is_symbolic
from torchlike.fx.node import Node
from torchlike.tensor import Tensor
from torchlike.utils._dtype_abbrs import dtype_abbrs

_FRAME = re.compile(r'File "(?P<file>.+)", line (?P<line>\d+), in (?P<name>.+)')


def kind_of(value: Any, include_stride: bool = False, include_device: bool = False) -> str:
    """Describe a value in short: ``f32[2, 3]``, ``Sym(s0)``; an empty string for anything else."""
    if is_symbolic(value):
        return f"Sym({value})"
    if not isinstance(value, Tensor):
        return ""
    text = f"{dtype_abbrs[value.dtype]}[{', '.join(map(str, value.shape))}]"
    if include_stride:
        text += f"[{', '.join(map(str, value.stride()))}]"
    return f"{text}{value.device}" if include_device else text


def origin_of(node: Node) -> str:
    """Return the innermost line of a node's stack trace as a comment; an empty string where it has
    none."""
    lines = (node.stack_trace or "").strip().split("\n")
    for at in reversed(range(len(lines))):
        found = _FRAME.search(lines[at])
        if found is not None:
            code = lines[at + 1].strip() if at + 1 < len(lines) else ""
            return f"# File: {found['file']}:{found['line']} in {found['name']}, code: {code}"
    return ""


class Origins:
    """The comments before nodes: each place once for the nodes that follow one another."""

    def __init__(self) -> None:
        self._last: str | None = None

    def before(self, node: Node) -> str:
        """Return the comment before a node; an empty string where it is the same as the one
        before."""
        if node.op in ("placeholder", "output"):
            return ""
        found = origin_of(node) or "# No stacktrace found for following nodes"
        if found == self._last:
            return ""
        first, self._last = self._last is None, found
        return f"{found}\n" if first else f"\n{found}\n"
