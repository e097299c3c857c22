"""Prints the table of entries that agree with PyTorch, column by column.

    python -m tests.parity.op_db.report [--samples N] [--entries REGEX] [--columns a,b] [--jobs 2]

Results go to a file, one line of JSON for each (entry, column, dtype), so that a long run can be
looked at while it goes on; ``--show`` prints the table of such a file, ``--resume`` goes on with a
run that was broken off.
"""

from __future__ import annotations

import argparse
import collections
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import jax

from torchlike._core.dispatch import registry

from .columns import COLUMNS, Entry, Mismatch, MissingName, NotApplicable, entries
from .deviations import DEVIATIONS, OUT_OF_SCOPE, deviation

#: Compiled programs are dropped after so many entries: each process would grow by ~10 MB an entry.
CLEAR_EVERY = 60
#: And when a process has so many memory mappings: a program has some, and Linux allows 65530
#: (vm.max_map_count). Beyond that XLA crashes: a run of all samples did so after 227 entries.
MOST_MAPPINGS = 20_000
#: Seconds one cell may take: max_pool2d has 1440 samples, each to be compiled.
TIME_LIMIT = 900


def cell(entry: Entry, column: str, dtype: Any, limit: int | None) -> dict[str, Any]:
    """One cell of the table: {"status": pass, fail, missing or skip, "detail", "samples"}."""
    function, _ = COLUMNS[column]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {"status": "pass", "samples": function(entry, dtype, limit), "detail": ""}
        except NotApplicable as why:
            return {"status": "skip", "samples": 0, "detail": str(why)}
        except MissingName as name:
            return {"status": "missing", "samples": 0, "detail": str(name)}
        except Mismatch as differences:
            detail = str(differences)
            lacks = re.search(r"MissingName: (\S+)", detail) or re.search(
                r"AttributeError: (?:module 'torchlike|type object 'Tensor|'Tensor' object)"
                r".*has no attribute '(\w+)'",
                detail,
            )
            if lacks:
                return {"status": "missing", "samples": 0, "detail": lacks.group(1)}
            return {"status": "fail", "samples": 0, "detail": detail}
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"[:600]
            return {"status": "fail", "samples": 0, "detail": detail}


def crowded() -> bool:
    """Whether there are too many compiled programs."""
    maps = Path("/proc/self/maps")
    return maps.exists() and maps.read_text().count("\n") > MOST_MAPPINGS


def clear() -> None:
    """Forget every compiled program."""
    registry.clear_executables()
    jax.clear_caches()
    gc.collect()


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"took more than {TIME_LIMIT} s")


def sweep(options: argparse.Namespace) -> None:
    """Run the cells and write a line for each."""
    signal.signal(signal.SIGALRM, _too_long)
    wanted = [e for e in entries() if re.search(options.entries, e.name)]
    columns = options.columns.split(",") if options.columns else list(COLUMNS)
    k, n = map(int, options.shard.split("/"))
    path = Path(options.file)
    done = {row["entry"] for row in results_in(path)} if options.resume else set()
    with path.open("a") as file:
        for i, entry in enumerate(wanted[k::n]):
            if entry.name in OUT_OF_SCOPE or entry.name in done:
                continue
            rows = []
            for column in columns:
                for dtype in COLUMNS[column][1](entry):
                    started = time.perf_counter()
                    signal.alarm(TIME_LIMIT)
                    found = cell(entry, column, dtype, options.samples or None)
                    signal.alarm(0)
                    found.update(
                        entry=entry.name,
                        column=column,
                        dtype=str(dtype).removeprefix("torch."),
                        seconds=round(time.perf_counter() - started, 2),
                    )
                    rows.append(json.dumps(found) + "\n")
                    if crowded():
                        clear()
            # An entry at once: a file that ends early holds whole entries, for --resume.
            file.write("".join(rows))
            file.flush()
            if i % CLEAR_EVERY == CLEAR_EVERY - 1:
                clear()


def results_in(path: Path) -> list[dict[str, Any]]:
    """The lines of a results file; none where there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def show(path: Path) -> None:
    """Print the table of a results file (the last line of each cell counts)."""
    cells: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in results_in(path):
        cells[row["entry"], row["column"], row["dtype"]] = row
    status: dict[str, dict[str, set[str]]] = collections.defaultdict(
        lambda: collections.defaultdict(set)
    )
    missing: set[str] = set()
    for (entry, column, dtype), row in cells.items():
        kind = row["status"]
        if kind == "fail" and deviation(entry, column, dtype):
            kind = "deviation"
        if kind == "missing":
            missing.add(f"{entry} ({row['detail']})" if row["detail"] != entry else entry)
        status[column][entry].add(kind)
        if kind != "skip":
            status["every column"][entry].add(kind)
    print(
        f"{'column':<18}{'entries':>8}{'agree':>8}{'%':>7}{'deviate':>9}{'fail':>6}{'missing':>9}"
    )
    for column in (*COLUMNS, "every column"):
        counted = {e: k - {"skip"} for e, k in status[column].items() if k - {"skip"}}
        if not counted:
            continue
        agree = sum(k == {"pass"} for k in counted.values())
        deviate = sum("deviation" in k and not k & {"fail", "missing"} for k in counted.values())
        lacking = sum("missing" in k for k in counted.values())
        fail = len(counted) - agree - deviate - lacking
        print(
            f"{column:<18}{len(counted):>8}{agree:>8}{100 * agree / len(counted):>7.1f}"
            f"{deviate:>9}{fail:>6}{lacking:>9}"
        )
    print(
        f"out of scope: {len(OUT_OF_SCOPE)}; lines of deviations: "
        f"{sum(len(d) for d in DEVIATIONS.values())}"
    )
    if missing:
        print(f"missing names ({len(missing)}):", ", ".join(sorted(missing)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=0, help="samples of each cell (0: all)")
    parser.add_argument("--entries", default="", help="a regular expression that names match")
    parser.add_argument("--columns", default="", help="columns, separated by commas")
    parser.add_argument("--file", default="op_db_results.jsonl", help="where results go")
    parser.add_argument("--shard", default="0/1", help="k/n: every n-th entry from the k-th")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --file")
    parser.add_argument("--show", action="store_true", help="only print the table of --file")
    options = parser.parse_args()
    path = Path(options.file)
    if not options.show:
        if options.jobs > 1:
            if not options.resume:
                path.unlink(missing_ok=True)
            again = [sys.executable, "-m", "tests.parity.op_db.report", *sys.argv[1:], "--jobs=1"]
            shards = [
                subprocess.Popen([*again, f"--shard={k}/{options.jobs}"], env={**os.environ})
                for k in range(options.jobs)
            ]
            for process in shards:
                process.wait()
        else:
            if options.shard == "0/1" and not options.resume:
                path.unlink(missing_ok=True)
            sweep(options)
            if options.shard != "0/1":
                return
    show(path)


if __name__ == "__main__":
    main()
