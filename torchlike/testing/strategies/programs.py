"""A strategy for in-place programs: views of one tensor, and writes through them."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Sequence
from typing import Any

from torchlike.testing.strategies.hypothesis_package import st


class InPlaceProgram:
    """A function of one tensor, ``program(x)``, that makes views and writes through them.

    It gives ``x`` and every tensor that it made.

    Args:
      source: its Python, which is also what prints.
      shape: the shape that it is for.

    Attributes:
      source, shape: as they were given.

    Example:
      >>> import hypothesis
      >>> from torchlike.testing import strategies
      >>> @hypothesis.settings(max_examples=2, database=None, deadline=None)
      ... @hypothesis.given(strategies.programs((2, 3), most=1))
      ... def check(program):
      ...     assert program(torch.zeros(program.shape))[0].shape == program.shape
      >>> check()
    """

    def __init__(self, source: str, shape: tuple[int, ...]) -> None:
        # hypothesis indents the lines of what it prints, and this may be pasted from there.
        source = textwrap.dedent(source).lstrip("\n")
        self.source, self.shape = source, shape
        names: dict[str, Any] = {}
        file = f"<in-place program {abs(hash(source))}>"
        # With its source at hand, so that errors show the line.
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec"), names)
        self.function = names["program"]

    def __call__(self, x: Any) -> Any:
        return self.function(x)

    def __repr__(self) -> str:
        return f'InPlaceProgram("""\n{self.source}""", {self.shape})'


def programs(shape: Sequence[int] = (3, 4), *, most: int = 6) -> Any:
    """Return a strategy for programs for a tensor of this shape, of at most so many statements.

    Views are by numbers, slices, transposition, diagonals and new dimensions; writes by ``add_``,
    ``mul_``, ``neg_``, ``fill_``, ``copy_``, ``sub_`` and assignment. Nothing written is needed for
    a gradient. An ``x`` that requires grad is to be no leaf: ``program(x.clone())``.

    Args:
      shape: of the tensor that a program takes.
      most: how many statements a program has at most.

    Returns:
      the strategy, of `Program`.

    Example:
      >>> import hypothesis
      >>> from torchlike.testing import strategies
      >>> @hypothesis.settings(max_examples=2, database=None, deadline=None)
      ... @hypothesis.given(strategies.programs((2, 3), most=2))
      ... def check(program):
      ...     assert "x" in program.source
      >>> check()
    """
    size = tuple(shape)

    @st.composite
    def made(draw: Any) -> InPlaceProgram:
        known, lines = {"x": size}, []
        for _ in range(draw(st.integers(1, most))):
            name = draw(st.sampled_from(sorted(known)))
            ways = _views(name, known[name]) if draw(st.booleans()) else []
            if ways:
                text, size_of_it = draw(st.sampled_from(ways))
                fresh = f"v{len(known)}"
                lines.append(f"{fresh} = {text}")
                known[fresh] = size_of_it
            else:
                number = draw(st.sampled_from((2, -1, 0.5, 3)))
                lines.append(draw(st.sampled_from(_writes(name, known, number))))
        body = "\n    ".join([*lines, f"return {', '.join(known)}{',' * (len(known) == 1)}"])
        return InPlaceProgram(f"def program(x):\n    {body}\n", size)

    return made()


def _views(name: str, size: tuple[int, ...]) -> list[tuple[str, tuple[int, ...]]]:
    """Return expressions that look at a tensor's memory, or a copy of it, with their shapes."""
    found = [(f"{name}.unsqueeze(0)", (1, *size)), (f"{name} * 2", size)]
    if size and size[0]:
        found += [
            (f"{name}[0]", size[1:]),
            (f"{name}[-1]", size[1:]),
            (f"{name}[..., 0]", size[:-1]) if size[-1] else (f"{name}[:]", size),
        ]
    if size and size[0] > 1:
        found += [
            (f"{name}[1:]", (size[0] - 1, *size[1:])),
            (f"{name}[::2]", ((size[0] + 1) // 2, *size[1:])),
        ]
    if len(size) >= 2:
        found.append((f"{name}.transpose(-1, -2)", (*size[:-2], size[-1], size[-2])))
    if len(size) == 2:
        found.append((f"{name}.diagonal()", (min(size),)))
    return found


def _writes(name: str, known: dict[str, tuple[int, ...]], number: float) -> list[str]:
    """Return statements that write into a tensor."""
    found = [
        f"{name}.add_({number})",
        f"{name}.mul_({number})",
        f"{name}.fill_({number})",
        f"{name}.neg_()",
        f"{name}[...] = {number}",
    ]
    for other, size in known.items():
        if other != name and size == known[name]:
            # Cloned: the two may overlap, where PyTorch promises nothing.
            found += [f"{name}.copy_({other}.clone())", f"{name}.sub_({other}.clone())"]
    return found
