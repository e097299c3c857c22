"""A plan as a page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from torchlike.porting.document import bar, document, table
from torchlike.porting.plan.planning import Plan
from torchlike.porting.plan.table import (
    PHASES,
    advice_row,
    heading,
    of_changes,
    of_update,
    phase_row,
    sections,
    verdict,
)

_STYLE = """
body { max-width: 52rem; }
table { margin: .5rem 0 1.5rem; }
td, th { padding: .25rem .75rem; }
td:not(:first-child) { text-align: right; font-variant-numeric: tabular-nums; }
td:nth-child(2) { white-space: nowrap; }
.bar { background: var(--line); }
.no { color: light-dark(#b00020, #ff8a94); } .yes { color: light-dark(#1b6e3c, #6fcf8b); }
"""
_COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#97bbf5")


def html(plans: Sequence[Plan], phases: Sequence[Plan] = ()) -> str:
    """Return the page of the first plan, and of what changes to it give; ``phases`` are the kinds
    of steps that an update takes, where they differ."""
    plan = plans[0]
    title = f"{heading(plan)} on {plan.topology}"
    mesh = ", ".join(f"{k}={v}" for k, v in plan.mesh.items())
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{plan.devices} x {escape(plan.chip['title'])}, mesh {escape(mesh)}</p>",
        f'<p class="{"yes" if plan.fits else "no"}">{escape(verdict(plan))}</p>',
        _bar(plan),
    ]
    for name, rows in sections(plan):
        parts.append(f"<h2>{escape(name)}</h2>{_table(rows)}")
    if len(phases) > 1:
        rows = _table([PHASES, *map(phase_row, phases)])
        parts.append(f"<h2>The steps of an update</h2>{rows}<p>{escape(of_update(phases))}</p>")
    if len(plans) > 1:
        head = ("change", "memory", "fits", "operations", "exchanged", "at least", "bound by")
        parts.append(f"<h2>What a change gives</h2>{_table([head, *map(advice_row, plans)])}")
        parts += [f"<p>{escape(line)}</p>" for line in of_changes(plans)]
    source = escape(plan.chip["source"])
    parts.append(f'<p>Figures of the chip: <a href="{source}">{source}</a></p>')
    return document(title, "".join(parts), _STYLE)


def _bar(plan: Plan) -> str:
    """Draw what fills a device's memory, each kind as wide as it is large."""
    whole = max(plan.capacity, plan.needed)
    kinds = [*plan.inputs.items(), ("activations and temporaries", plan.temporary)]
    return bar((n / whole, kind, _COLOURS[i % len(_COLOURS)]) for i, (kind, n) in enumerate(kinds))


def _table(rows: Sequence[Sequence[str]]) -> str:
    return table([escape(cell) for cell in row] for row in rows)
