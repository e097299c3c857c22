"""A scan as a page that needs nothing beside it."""

from __future__ import annotations

import re
from html import escape

from torchlike.porting.document import bar, bullets, document, table
from torchlike.porting.scan.findings import KINDS, ScanReport
from torchlike.porting.scan.listing import lines, place, summary, verdict

_STYLE = """
body { max-width: 70rem; }
table { font-size: .9rem; }
td, th { padding: .3rem .6rem; overflow-wrap: anywhere; }
th:nth-child(1), th:nth-child(3) { min-width: 11rem; }
code { font: .9em ui-monospace, monospace; }
.missing { background: light-dark(#ffd5d5, #6b1f1f); }
.risky { background: light-dark(#ffedb8, #5c4708); }
.differs { background: light-dark(#cdeefa, #124a5c); }
.other { background: light-dark(#dcdcff, #33336b); }
.supported { background: light-dark(#cdf0d4, #1d5229); }
/* A finding is a paragraph where four columns have no room. */
@media (max-width: 50rem) {
  tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  tr:first-child { display: none; }
  td { display: block; border: 0; padding: .1rem 0; }
}
.tag { border-radius: .3rem; padding: .05rem .4rem; white-space: nowrap; }
"""


def html(report: ScanReport) -> str:
    """Return the page: sums, a bar, and a row for each finding that asks for attention."""
    counts = {kind: report.count(kind) for kind in KINDS}
    whole = max(1, sum(counts.values()))
    rows = [
        (
            f"<code>{_breakable(place(file, f))}</code>",
            f'<span class="tag {f.kind}">{f.kind}{", guarded" if f.guarded else ""}</span>',
            f"<code>{escape(f.name)}</code>",
            _with_code(f.says) + (f" ({escape(f.link)})" if f.link else ""),
        )
        for file, f in lines(report, everything=False)
    ]
    body = (
        f"<h1>torchlike scan: {escape(verdict(report))}</h1>"
        + bar((n / whole, f"{kind}: {n}", kind) for kind, n in counts.items())
        + bullets(summary(report))
        + table(rows, ("where", "kind", "name", "what to do"))
    )
    return document("torchlike scan", body, _STYLE)


def _breakable(path: str) -> str:
    """Return a path as HTML that may be broken between its parts, where there is no room for it."""
    return escape(path).replace("/", "/<wbr>").replace(":", "<wbr>:")


def _with_code(text: str) -> str:
    """Mark words that a docstring sets between backticks as code."""
    return re.sub(r"(``?)(.+?)\1", r"<code>\2</code>", escape(text))
