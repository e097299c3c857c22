"""A program, and the strategy that draws one while running it under the reference."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from programs.functions import custom
from programs.statements import Source, leaf, leaf_from_numpy, leaf_plain

CHANGES_GEOMETRY = re.compile(r"(t|transpose|squeeze)_\(")


class Program:
    """Lines of Python over ``torch``, ``np``, tensors ``t1, t2, …`` and arrays ``at1, …``."""

    def __init__(self, lines: Sequence[str], watch: bool) -> None:
        self.lines = list(lines)
        #: Whether tensors are compared (and so read) after every line, or at the end only: reading
        #: fills the caches of views, not reading leaves arrays free for donation.
        self.watch = watch

    def __repr__(self) -> str:
        return "\n".join(["", *self.lines, f"# watch={self.watch}"])


class Run:
    """A program running under one library."""

    def __init__(self, library: Any, around: Callable[[], Any]) -> None:
        self.env: dict[str, Any] = {"torch": library, "np": np, "calls": []}
        if hasattr(library, "autograd"):
            self.env["custom"] = custom(library)
        self._around = around

    def step(self, line: str) -> Exception | None:
        """Run a line; the exception it raised, if any. Warnings are not the subject here."""
        with warnings.catch_warnings(), self._around():
            warnings.simplefilter("ignore")
            try:
                exec(line, self.env)
            except Exception as error:
                return error
        return None

    def names(self, prefix: str) -> list[str]:
        """The names of the tensors ("t") or arrays ("at") that exist, oldest first."""
        return sorted(
            (n for n in self.env if n.startswith(prefix) and n[len(prefix) :].isdigit()),
            key=lambda n: int(n[len(prefix) :]),
        )


@st.composite
def programs(
    draw: Any,
    library: Any,
    around: Callable[[], Any],
    kinds: Sequence[Callable[..., str]],
    longest: int = 14,
    suits: Callable[[str], Any] = bool,
) -> Program:
    """A program of up to ``longest`` lines after its first leaves; a line that ``suits`` does not
    hold of is left out."""
    run = Run(library, around)
    source = Source(draw, st, run.env)
    lines = []
    no_grad = leaf in kinds

    def add(line: str) -> None:
        # A recorded tensor's geometry is not changed under no_grad: PyTorch's gradient would have
        # the wrong shape.
        if no_grad and len(lines) > 2 and not CHANGES_GEOMETRY.search(line) and source.chance(12):
            line = f"with torch.no_grad(): {line}"
        lines.append(line)
        run.step(line)
        source.tensors = run.names("t")
        source.arrays = run.names("at")

    first = leaf if no_grad else leaf_plain
    add(first(source))
    seconds = (first, first, leaf_from_numpy) if suits("numpy") else (first,)
    add(draw(st.sampled_from(seconds))(source))
    for _ in range(draw(st.integers(1, longest))):
        kind = draw(st.sampled_from(kinds))
        try:
            line = kind(source)
        except LookupError:  # no tensor suits this kind of line
            continue
        if suits(line):
            add(line)
    return Program(lines, draw(st.booleans()))
