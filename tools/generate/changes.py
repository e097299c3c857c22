"""docs/what-importing-changes.md: what torchlike changes in the process that imports it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable

from torchlike._runtime import jax_private
from torchlike._runtime.jax_private.names import NAMES, PrivateName
from torchlike._runtime.patches import at_import, in_processes, in_use
from torchlike._runtime.patches.registry import Patch

INTRODUCTION = """# What importing torchlike changes

Made by `python -m tools.generate` from `torchlike/_runtime/patches` and
`torchlike/_runtime/jax_private`; do not edit.

torchlike shares its process with your program, with JAX and with Python. This page lists all that
it changes there beyond its own modules, and why. What is declared in no line of it fails a test
(`tests/test_patches.py`).

Where the column before the last says `undo`, this takes the change back:

```python
from torchlike._runtime import patches

patches.undo("excepthooks")
```

It returns whether there was anything to undo, and raises a RuntimeError where something else has
replaced what torchlike set, or where a change cannot be undone. Several are also left out by an
environment variable that is set before the import, as their lines say. The last column has the
files, below `torchlike/`, that make the change.
"""
SECTIONS = (
    (
        "By `import torchlike`",
        at_import,
        "These are there after the first line of your script.",
    ),
    (
        "By what you call",
        in_use,
        "Nothing here happens before the function or situation that the line names.",
    ),
    (
        "In commands and in processes of their own",
        in_processes,
        "`import torchlike` does none of this.",
    ),
)
NAMES_OF_JAX = """## What is private to JAX

torchlike uses {count} names that JAX promises to nobody. All are reached through
`torchlike/_runtime/jax_private`, and no other file may name one (`tests/test_jax_private.py`).
Where a JAX lacks one, a warning of the logger `torchlike.jax` says so and what is done instead. So
a new JAX is the work of one folder.
"""


def text() -> str:
    """Return the page."""
    for file in pkgutil.iter_modules(jax_private.__path__):  # each declares names
        importlib.import_module(f"{jax_private.__name__}.{file.name}")
    parts = [INTRODUCTION]
    for title, module, words in SECTIONS:
        found = [p for p in vars(module).values() if isinstance(p, Patch)]
        parts.append(f"## {title}\n\n{words}\n\n{_table_of_patches(found)}")
    parts.append(NAMES_OF_JAX.format(count=len(NAMES)) + "\n" + _table_of_names(NAMES.values()))
    return "\n".join(parts)


def _table_of_patches(patches: Iterable[Patch]) -> str:
    rows = ["| Name | What | When and why | JAX | Undone | Where |", "|---|---|---|---|---|---|"]
    for p in patches:
        undone = "`undo`" if not p.permanent else f"no: {p.permanent}"
        rows.append(
            f"| `{p.name}` | {p.changes}. | {p.when[:1].upper()}{p.when[1:]}: {p.why}. | {p.seen} "
            f"| {undone} | {', '.join(f'`{file}`' for file in p.files)} |"
        )
    return "\n".join(rows) + "\n"


def _table_of_names(names: Iterable[PrivateName]) -> str:
    rows = ["| Name | What for | Without it | Seen in JAX |", "|---|---|---|---|"]
    rows += [
        f"| `{n.where}` | {n.purpose} | {n.without} | {n.seen} |"
        for n in sorted(names, key=lambda n: n.where.lower())
    ]
    return "\n".join(rows) + "\n"
