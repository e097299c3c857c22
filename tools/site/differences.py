"""The page of what differs from PyTorch: what docstrings say of it, a line each."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tools.site.staging import ROOT
from torchlike._compat.help.docstrings import difference

_INTRODUCTION = """# Differs from PyTorch

What the documentation of each name says of it. Whatever is not listed is meant to be as in
PyTorch, or is [refused](../docs/operators.md#not-supported) with an error; `torchlike scan` tells
what your program can meet. Of whole areas these pages tell: """
#: A heading that begins what differs in a page of docs/.
_HEADING = re.compile(r"^(#+) (.*(?:[Dd]iffers from PyTorch|What differs).*)$", re.MULTILINE)


def page(modules: list[tuple[str, list[tuple[str, Any]]]], shown: Callable[[str], str]) -> str:
    """Return the Markdown of the page, of the names of modules, in their order.

    ``shown`` makes Markdown of a docstring's words. What several modules have stands at the first.
    """
    parts = [_INTRODUCTION + ", ".join(_areas()) + "."]
    told: set[tuple[str, str]] = set()
    for path, names in modules:
        lines = []
        for name, anchor, said in _entries(names):
            key = (name.rstrip("_"), said)  # what changes in place says the same
            if key not in told:
                told.add(key)
                lines.append(f"- [`{name}`]({path}.md#{anchor}): {shown(said)}")
        if lines:
            parts.append(f"## {path}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _areas() -> Iterator[str]:
    """Yield links to the pages of docs/ that have such a part."""
    for file in sorted((ROOT / "docs").glob("*.md")):
        text = file.read_text("utf-8")
        found = _HEADING.search(text)
        if found:
            title = re.sub(r"^# |:.*", "", text.splitlines()[0])
            anchor = "" if found.group(1) == "#" else "#" + found.group(2).lower().replace(" ", "-")
            yield f"[{title}](../docs/{file.name}{anchor})"


def _entries(names: list[tuple[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield the names with a difference: the name, the anchor of its heading, the difference. A
    method's heading is its class's."""
    seen: Counter[str] = Counter()
    for name, value in names:
        slug = name.lower()  # headings that differ in capitals alone are numbered
        anchor = f"{slug}_{seen[slug]}" if seen[slug] else slug
        seen[slug] += 1
        if name == "Tensor":  # which has a page of its own
            continue
        own = vars(value).items() if inspect.isclass(value) else ()
        methods = [(f"{name}.{n}", f) for n, f in own if n[0] != "_" and inspect.isfunction(f)]
        for label, documented in [(name, value), *methods]:
            said = difference(_doc(documented))
            if said:
                yield label, anchor, said


def _doc(value: Any) -> str:
    """Return the documentation of its own, not the one a class inherits."""
    said = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    return inspect.cleandoc(said or "")
