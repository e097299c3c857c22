"""A command's start with an empty and with a filled compilation cache.

    python benchmarks/start.py                                   a torchlike.jit GPT step
    python benchmarks/start.py -- python benchmarks/first_step.py torchlike mlp
    python benchmarks/start.py --until 'epoch' -- python -m torchlike run examples/digits.py

The command runs twice in a row with ``TORCHLIKE_CACHE_DIR`` naming a folder that is empty at first
(JAX's and torch.compile's own caches likewise), and this as often as ``--repeat`` says. Reported:
the first step as the command itself prints it (``first step 1.23 s``), the time from the start of
the process to the first line of its output that matches ``--until``, and the whole run.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

if not __package__:
    # Run as a script: the package is found from the repository's root, not from this folder.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from rich.console import Console
from rich.table import Table

from benchmarks import environments, frameworks, tables

ROOT = Path(__file__).resolve().parents[1]
FIRST_STEP = re.compile(r"first step:?\s+([0-9.]+)\s*(ms|s)\b")
DEFAULT_COMMAND = (sys.executable, str(ROOT / "benchmarks/first_step.py"), "torchlike.jit", "gpt")


class StartError(Exception):
    """The command failed, or printed nothing that `--until` matches."""


@dataclass(frozen=True)
class Start:
    """One run of the command; times in seconds."""

    reported: float | None
    until: float | None
    whole: float


def reported_first_step(line: str) -> float | None:
    """Parse the seconds in ``first step 12.3 ms``; None for any other line."""
    found = FIRST_STEP.search(line)
    if found is None:
        return None
    return float(found[1]) * (1e-3 if found[2] == "ms" else 1.0)


def run_once(command: Sequence[str], cache: str, until: re.Pattern[str] | None) -> Start:
    """Run the command with its caches in the folder `cache`.

    Raises:
        StartError: when it fails, or its output never matches `until`.
    """
    environment = os.environ | environments.variables(frameworks.parse("torchlike"), cache)
    start = time.perf_counter()
    reported = matched = None
    lines: list[str] = []
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if until is not None and matched is None and until.search(line):
                matched = time.perf_counter() - start
            if reported is None:
                reported = reported_first_step(line)
        code = process.wait()
    whole = time.perf_counter() - start
    if code != 0:
        raise StartError(f"the command ended with code {code}:\n{''.join(lines[-30:])}")
    if until is not None and matched is None:
        raise StartError(f"no line of the output matches {until.pattern!r}")
    return Start(reported, matched, whole)


def cache_contents(cache: str) -> tuple[int, int]:
    """Return the number of files under `cache`, and their bytes."""
    sizes = [p.stat().st_size for p in Path(cache).rglob("*") if p.is_file()]
    return len(sizes), sum(sizes)


def start_table(title: str, cold: Sequence[Start], warm: Sequence[Start]) -> Table:
    """Return a table of the medians of the cold and the warm runs, and how many times as long a
    cold one takes."""
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("")
    for column in ("cold", "warm", "cold ÷ warm"):
        table.add_column(column, justify="right")
    for name, field in (
        ("first step, as printed", "reported"),
        ("process start to --until", "until"),
        ("whole run", "whole"),
    ):
        both = [[getattr(s, field) for s in starts] for starts in (cold, warm)]
        if any(value is None for values in both for value in values):
            continue
        a, b = (median(values) for values in both)
        table.add_row(name, tables.duration(a), tables.duration(b), f"{a / b:.2f}")
    return table


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--until", type=re.compile, metavar="REGEX", help="a line to wait for")
    parser.add_argument("--repeat", type=int, default=3, help="pairs of runs (default 3)")
    parser.add_argument("command", nargs="*", help="after --; what to run")
    arguments = parser.parse_args(argv)
    if arguments.repeat < 1:
        parser.error("--repeat must be at least 1")
    command = arguments.command or DEFAULT_COMMAND
    console = Console()
    cold, warm = [], []
    files = size = 0
    try:
        for _ in range(arguments.repeat):
            with tempfile.TemporaryDirectory(prefix="benchmark-start-") as cache:
                cold.append(run_once(command, cache, arguments.until))
                files, size = cache_contents(cache)
                warm.append(run_once(command, cache, arguments.until))
    except (StartError, OSError) as error:
        console.print(f"[red]{type(error).__name__}[/red]: {error}", highlight=False)
        return 1
    console.print(start_table(" ".join(map(str, command)), cold, warm))
    console.print(f"{files} files in the cache, {size / 1e6:.1f} MB; medians of {len(cold)} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
