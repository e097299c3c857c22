"""The HTML of reports: a document that needs nothing beside it, tables, bars and lists.

The pages of a comparison, a plan and a scan are made of these; each adds what it alone shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

#: What all reports look like, on light and on dark screens.
_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
@media (max-width: 50rem) { table { display: block; overflow-x: auto; } }
.bar { display: flex; height: 1.2rem; border-radius: .3rem; overflow: hidden; margin: 1rem 0; }
"""


def document(title: str, body: str, style: str) -> str:
    """Return a whole page.

    Args:
        title: plain text, which is escaped.
        body: HTML.
        style: the report's own rules of CSS, which stand behind those of all reports.
    """
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{_STYLE}{style}</style>{body}</html>\n"
    )


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Return a table of cells, which are HTML, below headings, which are plain text."""
    headings = "".join(f"<th>{escape(text)}</th>" for text in head)
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in ([headings] if head else []) + lines)
    return f"<table>{body}</table>"


def bar(parts: Iterable[tuple[float, str, str]]) -> str:
    """Draw the parts of a whole beside each other.

    Args:
        parts: of each its share of the whole, its title in plain text, and its CSS class or
            background.
    """
    cells = []
    for share, title, look in parts:
        name, paint = (look, "") if look.isidentifier() else ("", f";background:{look}")
        kind = f'class="{name}" ' if name else ""
        cells.append(
            f'<div {kind}style="width:{100 * share:.2f}%{paint}" title="{escape(title)}"></div>'
        )
    return f'<div class="bar">{"".join(cells)}</div>'


def bullets(lines: Iterable[str]) -> str:
    """Return a list of lines of plain text."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
