"""Compare torchlike with PyTorch, torch.compile and hand-written JAX.

    python benchmarks/run.py                          everything, about half an hour
    python benchmarks/run.py --quick --workloads mlp op
    python benchmarks/run.py --frameworks torch jax jax@tuned --workloads gpt --json out.json

README.md beside this file says what is measured and how to read the tables.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    # Run as a script: the package is found from the repository's root, not from this folder.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from rich.console import Console

from benchmarks import frameworks, quiet, tables
from benchmarks.session import Measurement, Plan, run_together
from benchmarks.targets import judge
from benchmarks.workloads import TRAINING
from benchmarks.workloads.micro import MICRO

TRAINING_GROUP = "training steps"
TRAINING_FRAMEWORKS = (
    "torchlike",
    "torchlike.jit",
    "torch",
    "torch.compile",
    "jax",
    "jax@tuned",
)

#: Columns of the tables in a file or a pipe, where there is no terminal to ask.
REPORT_WIDTH = 120

TITLES = {name: case.title for name, case in MICRO.items()} | {
    name: module.TITLE for name, module in TRAINING.items()
}
#: Group -> its workloads, in the order of the tables.
GROUPS: dict[str, list[str]] = {"op overhead": ["op"], TRAINING_GROUP: list(TRAINING)}
for _name, _case in MICRO.items():
    if _name not in GROUPS.setdefault(_case.group, []):
        GROUPS[_case.group].append(_name)


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--workloads",
        nargs="+",
        metavar="NAME",
        help=f"some of: {', '.join(TITLES)}; or a group: {', '.join(map(repr, GROUPS))}",
    )
    parser.add_argument(
        "--frameworks",
        nargs="+",
        metavar="NAME",
        help=f"some of: {', '.join(frameworks.NAMES)}; NAME@tuned and NAME@stock set the allocator",
    )
    parser.add_argument("--rounds", type=int, default=9, help="rounds per workload (default 9)")
    parser.add_argument(
        "--seconds", type=float, default=0.4, help="length of one round (default 0.4)"
    )
    parser.add_argument("--quick", action="store_true", help="3 rounds of 0.1 s: does it run?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round here")
    parser.add_argument(
        "--quiet-below",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="wait before a round until others use less than this of the machine (default 0.1)",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="...but no longer than this (default 10; with --quick 0)",
    )
    arguments = parser.parse_args(argv)
    try:
        arguments.workloads = select_workloads(arguments.workloads)
        arguments.frameworks = [frameworks.parse(f) for f in arguments.frameworks or ()]
    except ValueError as error:
        parser.error(str(error))
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if arguments.quick:
        arguments.rounds, arguments.seconds, arguments.patience = 3, 0.1, 0.0
    return arguments


def select_workloads(asked: Sequence[str] | None) -> dict[str, list[str]]:
    """Return group -> workloads, in the tables' order; names of groups stand for all of theirs.

    Raises:
        ValueError: for a name that is neither.
    """
    if asked is None:
        return {group: list(names) for group, names in GROUPS.items()}
    chosen: set[str] = set()
    for name in asked:
        if name not in GROUPS and name not in TITLES:
            raise ValueError(f"unknown workload {name!r}; known: {', '.join([*TITLES, *GROUPS])}")
        chosen.update(GROUPS.get(name, [name]))
    picked = {group: [n for n in names if n in chosen] for group, names in GROUPS.items()}
    return {group: names for group, names in picked.items() if names}


def select_frameworks(
    workload: str, asked: Sequence[frameworks.Framework]
) -> list[frameworks.Framework]:
    """Return the frameworks that `workload` is measured in; all it has, where none is asked for."""
    has = MICRO[workload].frameworks if workload in MICRO else TRAINING_FRAMEWORKS
    if not asked:
        return [frameworks.parse(name) for name in has]
    return [f for f in asked if f.name in {frameworks.parse(name).name for name in has}]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; gives 1 when a framework failed at a workload."""
    arguments = parse_arguments(argv)
    plan = Plan(arguments.rounds, arguments.seconds, arguments.quiet_below, arguments.patience)
    console = Console()
    if not console.is_terminal:
        console = Console(width=REPORT_WIDTH)
    measured: list[Measurement] = []
    versions: dict[str, str] = {}
    with (
        tempfile.NamedTemporaryFile(prefix="benchmarks-", suffix=".log", delete=False) as log,
        console.status("") as status,
    ):
        for group, names in arguments.workloads.items():
            training = group == TRAINING_GROUP
            # A training step gets processes of its own, for its peak memory and a cold start.
            for together in [[name] for name in names] if training else [names]:
                cells, found = run_together(
                    together,
                    lambda workload: select_frameworks(workload, arguments.frameworks),
                    plan,
                    log,
                    status.update,
                )
                measured += cells
                versions |= found
            group_cells = [c for c in measured if c.workload in names]
            console.print(tables.group_table(group, TITLES, group_cells, training))
    _print_conditions(console, versions, measured, log.name)
    if arguments.json:
        write_json(arguments.json, arguments, versions, measured)
    return 1 if any(c.error for c in measured) else 0


def _print_conditions(
    console: Console, versions: dict[str, str], measured: Sequence[Measurement], log: str
) -> None:
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
    console.print(
        f"{quiet.describe_machine()}; {libraries}; Python {platform.python_version()}; float32. "
        "Times are medians of per-round minima; compare only within one run.",
        highlight=False,
    )
    for warning in tables.warnings(measured):
        console.print(f"[yellow]note:[/yellow] {warning}", highlight=False)
    if any(c.error for c in measured):
        console.print(f"[red]some failed[/red]; their tracebacks and output: {log}")
    else:
        Path(log).unlink()


def write_json(
    path: Path,
    arguments: argparse.Namespace,
    versions: dict[str, str],
    measured: Sequence[Measurement],
) -> None:
    """Write everything that was measured, round by round, with the verdicts."""
    rounds = {(c.workload, c.framework): c.rounds for c in measured if c.error is None}
    content = {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": quiet.describe_machine(),
        "python": platform.python_version(),
        "versions": versions,
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
        "measurements": [c.as_json() for c in measured],
        "targets": [
            {
                "workload": v.target.cell[0],
                "framework": v.target.cell[1],
                "target": v.target.text,
                "ratio": v.ratio,
                "met": v.met,
            }
            for v in judge(rounds)
            if v.ratio is not None
        ],
    }
    path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
