"""The HTML document around a report: one file that needs nothing beside it."""

from __future__ import annotations

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
