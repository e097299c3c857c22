"""The Python of a notebook, as one program whose lines are known by cell."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field
from typing import Any

from torchlike.porting.scan.sources import UnreadableError

#: Magics of a whole cell whose cell is Python all the same.
_PYTHON = ("%%time", "%%timeit", "%%capture", "%%prun", "%%python", "%%python3")
_LINE_MAGIC = re.compile(r"^(\s*)(?:[%!?]|[\w.]+\s*=\s*[%!]|[\w.\[\]]+\?{1,2}\s*$)")


@dataclass
class Notebook:
    """Source and where its lines come from."""

    source: str = ""
    #: For each line of the source, from 1: the cell and the line in it.
    places: list[tuple[int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(text: str) -> Notebook:
    """Read the code cells in order. Magics become ``pass``; cells in other languages are left out.

    Raises:
        UnreadableError: it is no notebook.
    """
    try:
        content = json.loads(text)
        cells = content["cells"] if "cells" in content else content["worksheets"][0]["cells"]
        code = [(i, _source(c)) for i, c in enumerate(cells, 1) if c.get("cell_type") == "code"]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise UnreadableError(f"not a notebook: {error or type(error).__name__}") from None
    made = Notebook()
    lines: list[str] = []
    for number, source in code:
        first = source.lstrip().partition("\n")[0]
        if first.startswith("%%") and not first.startswith(_PYTHON):
            made.notes.append(f"cell {number} left out: {first.split()[0]}")
            continue
        cell = _without_magics(source)
        try:
            ast.parse("\n".join(cell))
        except (SyntaxError, ValueError, RecursionError) as error:
            made.notes.append(f"cell {number} left out: {_words(error)}")
            continue
        lines += cell
        made.places += [(number, i) for i in range(1, len(cell) + 1)]
    made.source = "\n".join(lines) + "\n"
    return made


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    return source if isinstance(source, str) else "".join(source)


def _without_magics(source: str) -> list[str]:
    made: list[str] = []
    inside = False  # of a magic that goes on in the next line
    for line in source.splitlines():
        found = _LINE_MAGIC.match(line)
        if inside or found:
            made.append(f"{found.group(1) if found else ''}pass")
            inside = line.rstrip().endswith("\\")
            if inside and not found:
                made[-1] = "pass"
        else:
            made.append(line)
    return made


def _words(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} (line {error.lineno})"
    return str(error) or type(error).__name__
