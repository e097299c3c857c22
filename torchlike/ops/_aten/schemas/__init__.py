"""What aten's operators take and give: PyTorch's schemas, in short.

A line is names that share a schema, an overload after a dot, and arguments in PyTorch's schema
language, where ``Tensor`` is left out: ``add sub .Tensor(self, other, *, Scalar alpha=1)``. The
result is a tensor unless said. Marks follow: ``!`` with ``i`` (there is an in-place twin
``add_.Tensor``), ``c`` (PyTorch makes it of other operators) and ``h`` (Python's functions do not
call it), and ``>`` for the overload that writes into ``out``, which is called ``out`` or
``<overload>_out`` unless named.

An operator that has no line has the signature of torchlike's own op.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from torchlike.ops._aten.schema_language import FunctionSchema, parse
from torchlike.ops._aten.schemas import (
    creation,
    layers,
    linear_algebra,
    lists,
    pointwise,
    reductions,
    shapes,
)

_LINE = re.compile(
    r"(?P<names>\w[\w ]*?)\s*(?:\.(?P<overload>\w+))?\((?P<args>.*?)\)"
    r"(?: -> (?P<returns>\S.*?))?(?:\s+!(?P<marks>\w+))?(?:\s+>(?P<out>\w*))?$"
)
_BARE = re.compile(r"(?<=[(,])\s*(?=\w+\s*(?:[,)=]|$))")


class Line(NamedTuple):
    """One overload, not yet read."""

    overload: str
    arguments: str
    returns: str
    marks: str
    #: The overload that writes into ``out``; None for none.
    out: str | None

    @property
    def is_composite(self) -> bool:
        """Whether PyTorch makes it of other operators."""
        return "c" in self.marks


def _with_types(arguments: str) -> str:
    """Return the arguments with the type ``Tensor`` where it was left out."""
    given = []
    for part in re.split(r",\s*(?![^(\[]*[)\]])", arguments):
        part = part.strip()
        given.append(f"Tensor {part}" if re.fullmatch(r"[A-Za-z_]\w*", part) else part)
    return ", ".join(given)


@functools.cache
def table() -> dict[str, list[Line]]:
    """Return the schema lines by the operator's name."""
    found: dict[str, list[Line]] = {}
    texts = (pointwise, reductions, shapes, creation, layers, linear_algebra, lists)
    for text in texts:
        for line in text.TEXT.replace("\n    ", " ").strip().splitlines():
            read = _LINE.match(line.strip())
            if read is None:
                raise RuntimeError(f"schemas: cannot read {line!r}")
            out = read["out"]
            if out == "":
                out = "out" if read["overload"] in (None, "Tensor") else f"{read['overload']}_out"
            entry = Line(
                read["overload"] or "",
                read["args"],
                read["returns"] or "Tensor",
                read["marks"] or "",
                out,
            )
            for name in read["names"].split():
                found.setdefault(name, []).append(entry)
    return found


@functools.cache
def overloads_of(name: str) -> dict[str, tuple[Line, str]]:
    """Return the overloads of an operator: their line and their schema as text. In-place twins and
    those that write into ``out`` are made from the lines of the operator itself."""
    found: dict[str, tuple[Line, str]] = {}
    for line in table().get(name, ()):
        found[line.overload] = line, f"({_with_types(line.arguments)}) -> {line.returns}"
        if line.out is not None:
            found[line.out] = line, _into_out(line)
    if name.endswith("_"):
        for line in table().get(name[:-1], ()):
            if "i" in line.marks and line.overload not in found:
                given = _with_types(line.arguments)
                given = re.sub(r"^Tensor(\(a\))? self", "Tensor(a!) self", given)
                found[line.overload] = line, f"({given}) -> Tensor(a!)"
    return found


def _into_out(line: Line) -> str:
    names = ("out",)
    count = len(re.findall("Tensor", line.returns))
    if count > 1:
        names = tuple(f"out{i}" for i in range(count))
    given = _with_types(line.arguments)
    star = "" if re.search(r"(^|, )\*", given) else "*, "
    written = [f"Tensor({chr(97 + i)}!) {name}" for i, name in enumerate(names)]
    results = [f"Tensor({chr(97 + i)}!)" for i in range(len(names))]
    result = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({given}, {star}{', '.join(written)}) -> {result}"


@functools.cache
def schema(name: str, overload: str) -> FunctionSchema:
    """Return the schema of an overload ("" for the default). KeyError where there is none."""
    end = f".{overload}" if overload else ""
    return parse(f"aten::{name}{end}{overloads_of(name)[overload][1]}")
