"""Compiles the op table for a TPU v5e and an H100, and writes docs/operators-on-accelerators.md.

    python -m tools.lowerings [--only NAME ...] [--dtype bfloat16] [--write]

Results are kept in a file beside, so that a run goes on where another ended: one line of JSON an
op. Each batch of ops runs in a process of its own, so that a crash of a compiler is a result too.
Needs the extras ``plan`` and ``parity``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "operators-on-accelerators.md"
_PLATFORMS = {"tpu": "TPU v5e", "cuda": "H100"}
#: Ops that a process compiles before the next one begins.
_BATCH = 60


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "lowerings.jsonl")
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--one-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.results.parent.mkdir(exist_ok=True)
    sys.path[:0] = [str(ROOT / "tests" / "parity")]
    if options.one_process:
        _compile(options.only, options.dtype, options.results)
        return
    names = options.only or _names()
    while todo := [n for n in names if (n, options.dtype) not in _known(options.results)]:
        command = [
            sys.executable, "-m", "tools.lowerings", "--one-process", "--dtype", options.dtype,
            "--results", str(options.results), "--only", *todo[:_BATCH],
        ]  # fmt: skip
        (options.results.parent / "current").write_text("")
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
        if done.returncode:
            _note_crash(options, todo[:_BATCH], done.returncode)
    if options.write:
        PAGE.write_text(page(_known(options.results)), encoding="utf-8")


def _names() -> list[str]:
    import lowerings

    return list(lowerings.one_for_each())


def _known(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    if not path.exists():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(x["op"], x["dtype"]): x for x in lines}


def _compile(names: list[str], dtype: str, path: Path) -> None:
    import lowerings

    cases = lowerings.one_for_each()
    if unknown := set(names) - set(cases):
        raise SystemExit(f"the table has no {', '.join(sorted(unknown))}")
    for name in names:
        case = cases[name]
        if dtype != "float32":
            case = lowerings.in_dtype(case, dtype)
        (path.parent / "current").write_text(name)
        found = {p: lowerings.outcome(case, p) for p in _PLATFORMS}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"op": name, "dtype": dtype, **found}) + "\n")


def _note_crash(options: argparse.Namespace, names: list[str], code: int) -> None:
    """A process ended: the op that it was at is to blame."""
    at = (options.results.parent / "current").read_text()
    if at not in names:
        raise SystemExit(f"no op of {names} was begun: exit code {code}")
    if (at, options.dtype) not in _known(options.results):
        found = dict.fromkeys(_PLATFORMS, f"crashed: exit code {code}")
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"op": at, "dtype": options.dtype, **found}) + "\n")


def page(known: dict[tuple[str, str], dict[str, str]]) -> str:
    """The page: counts, and every op that is not compiled for both."""
    rows = sorted(known.values(), key=lambda x: (x["op"], x["dtype"]))
    lines = [
        "# Operators on accelerators",
        "",
        "Made by `python -m tools.lowerings --write`. One case of each op of the table that tests",
        "hold against PyTorch, captured forward and backward and compiled ahead of time for a TPU",
        "v5e and an H100, on a machine that has neither. *Needs values*: the op's result has a",
        "shape, or is a Python value, that depends on values, which no compiled program can have;",
        "eagerly it works.",
        "",
        "| dtype of the floats | ops | " + " | ".join(_PLATFORMS.values()) + " |",
        "|---|---|---|---|",
    ]
    for dtype in sorted({x["dtype"] for x in rows}, reverse=True):
        of = [x for x in rows if x["dtype"] == dtype]
        cells = []
        for platform in _PLATFORMS:
            kinds = Counter(x[platform].partition(":")[0] for x in of)
            cells.append(", ".join(f"{n} {kind}" for kind, n in kinds.most_common()))
        lines.append(f"| {dtype} | {len(of)} | {' | '.join(cells)} |")
    lines += ["", "## What is not compiled", ""]
    lines += [f"| op | dtype | {' | '.join(_PLATFORMS.values())} |", "|---|---|---|---|"]
    for x in rows:
        found = [x[p] for p in _PLATFORMS]
        if found != ["compiled"] * len(found):
            cells = " | ".join(f.replace("|", "\\|").replace("\n", " ") for f in found)
            lines.append(f"| `{x['op']}` | {x['dtype']} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
