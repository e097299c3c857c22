"""Compiles ops and modules for a TPU v5e and an H100; writes docs/operators-on-accelerators.md.

    python -m tools.lowerings [--only NAME ...] [--dtype bfloat16] [--write]

Results are kept in a file beside, so that a run goes on where another ended: one line of JSON a
name and dtype. Each batch runs in a process of its own, so that a compiler that crashes, or that
takes longer than ``--limit``, is a result too. Needs the extras ``plan`` and ``parity``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "operators-on-accelerators.md"
_PLATFORMS = {"tpu": "TPU v5e", "cuda": "H100"}
_DIRECTIONS = ("forward", "backward")
#: Names that a process compiles before the next one begins.
_BATCH = 60
#: Dtypes in the page's order.
_ORDER = ("float32", "bfloat16", "int32", "float64", "complex64")

Known = dict[tuple[str, str], dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--dtype", default="float32", choices=_ORDER)
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "lowerings.jsonl")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one name")
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--one-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.results.parent.mkdir(exist_ok=True)
    sys.path[:0] = [str(ROOT / "tests" / "parity"), str(ROOT / "tests" / "nn")]
    if options.one_process:
        _compile(options.only, options.dtype, options.results)
        return
    names = options.only or _names()
    while todo := [n for n in names if (n, options.dtype) not in _known(options.results)]:
        _batch(options, todo[:_BATCH])
    if options.write:
        PAGE.write_text(page(_known(options.results)), encoding="utf-8")


def _names() -> list[str]:
    import lowerings

    return list(lowerings.subjects())


def _known(path: Path) -> Known:
    if not path.exists():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(x["op"], x["dtype"]): x for x in lines}


def _batch(options: argparse.Namespace, names: list[str]) -> None:
    """Compile ``names`` in a process of its own, up to the first that ends it."""
    command = [
        sys.executable,
        "-m",
        "tools.lowerings",
        "--one-process",
        "--dtype",
        options.dtype,
        "--results",
        str(options.results),
        "--only",
        *names,
    ]
    current = _current(options.results)
    current.write_text("")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    while process.poll() is None:
        time.sleep(0.5)
        if current.read_text() and time.time() - current.stat().st_mtime > options.limit:
            process.kill()
            process.wait()
            _note(options, names, f"slow: more than {options.limit:.0f} s to compile")
            return
    if process.returncode:
        _note(options, names, f"crashed: exit code {process.returncode}")


def _current(results: Path) -> Path:
    """Return the path of the file that says what is being compiled, since when."""
    return results.with_suffix(".current")


def _compile(names: list[str], dtype: str, path: Path) -> None:
    import lowerings

    subjects = lowerings.subjects()
    if unknown := set(names) - set(subjects):
        raise SystemExit(f"there is no {', '.join(sorted(unknown))}")
    for name in names:
        _current(path).write_text(name)
        found = {p: lowerings.outcome(subjects[name], p, dtype) for p in _PLATFORMS}
        _append(path, {"op": name, "dtype": dtype, **found})


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _note(options: argparse.Namespace, names: list[str], what: str) -> None:
    """Record what a process that ended was at, which is to blame."""
    at = _current(options.results).read_text()
    if at not in names:
        raise SystemExit(f"nothing of {names} was begun: {what}")
    if (at, options.dtype) not in _known(options.results):
        found = {p: dict.fromkeys(_DIRECTIONS, what) for p in _PLATFORMS}
        _append(options.results, {"op": at, "dtype": options.dtype, **found})


# -- the page --------------------------------------------------------------------------------------

_HEAD = """# Operators on accelerators

Made by `python -m tools.lowerings --write`. One case of each op of the table that tests hold
against PyTorch, and each configuration of a module, compiled ahead of time for a TPU v5e and an
H100 on a machine that has neither; nothing ran there. Forward and backward are counted apart:
where both are compiled they are one program. Counted is what PyTorch has in that dtype (on a CPU),
of backward what has a gradient there.
"""


def page(known: Known) -> str:
    """Return the page: counts, and what is not compiled, by its reason."""
    rows = sorted(known.values(), key=lambda x: (_ORDER.index(x["dtype"]), x["op"]))
    return "\n".join(
        [_HEAD, *_counts(rows), "", "## What is not compiled", "", *_reasons(rows)]
    ) + ("\n")


def _counts(rows: Sequence[dict[str, Any]]) -> list[str]:
    columns = [f"{title}, {d}" for title in _PLATFORMS.values() for d in _DIRECTIONS]
    lines = [f"| | dtype | {' | '.join(columns)} |", "|---|---|" + "---|" * len(columns)]
    for what, is_module in (("ops", False), ("modules", True)):
        for dtype in _ORDER:
            of = [x for x in rows if x["dtype"] == dtype and _is_module(x) == is_module]
            # PyTorch has no module in some dtypes.
            if any(
                x[p][d] != "not in PyTorch" for x in of for p in _PLATFORMS for d in _DIRECTIONS
            ):
                cells = [_count([x[p][d] for x in of]) for p in _PLATFORMS for d in _DIRECTIONS]
                lines.append(f"| {what} | {dtype} | {' | '.join(cells)} |")
    return lines


def _is_module(row: dict[str, Any]) -> bool:
    return row["op"].startswith("nn.") and not row["op"].startswith("nn.functional.")


def _count(outcomes: Sequence[str]) -> str:
    there = Counter(x.partition(":")[0] for x in outcomes if x not in ("not in PyTorch", "none"))
    return f"{there['compiled']} of {there.total()}"


_NEEDS_VALUES = (
    "the result's size, or a Python value, depends on values, which no compiled program can have; "
    "eagerly it works"
)


def _reasons(rows: Sequence[dict[str, Any]]) -> list[str]:
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for x in rows:
        for p, title in _PLATFORMS.items():
            for d in _DIRECTIONS:
                said = x[p][d]
                if said in ("compiled", "none", "not in PyTorch"):
                    continue
                if said.startswith("needs values"):
                    said = f"needs values: {_NEEDS_VALUES}"
                where = found[said.replace("|", "\\|")][f"`{x['op']}`"]
                where.append(f"{title} {x['dtype']} {d}")
    lines = ["| outcome | ops and modules |", "|---|---|"]
    for said in sorted(found):
        by_place: dict[str, list[str]] = defaultdict(list)
        for name, places in found[said].items():
            by_place[_place(places)].append(name)
        cells = "; ".join(f"{', '.join(names)} ({place})" for place, names in by_place.items())
        lines.append(f"| {said} | {cells} |")
    return lines


def _place(places: list[str]) -> str:
    """Write platforms, dtypes and directions, each named once."""
    parts = [p.rsplit(" ", 2) for p in places]
    named = [list(dict.fromkeys(p[i] for p in parts)) for i in range(3)]
    if len(named[0]) == len(_PLATFORMS):
        named[0] = []
    if len(named[2]) == len(_DIRECTIONS):
        named[2] = []
    return ", ".join(_listed(x) for x in named if x)


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


if __name__ == "__main__":
    main()
