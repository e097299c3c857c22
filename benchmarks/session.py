"""Running the rounds: workers side by side, one of them awake at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from benchmarks import quiet
from benchmarks.frameworks import Framework
from benchmarks.pool import WorkerError, WorkerProcess

#: A worker that used more processor time than this while it should have slept disturbed others.
IDLE_CPU_SECONDS = 0.02


@dataclass
class Measurement:
    """What one framework did on one workload; times in seconds."""

    workload: str
    framework: str
    rounds: list[float] = field(default_factory=list)
    first_s: float | None = None
    second_s: float | None = None
    import_s: float | None = None
    peak_mb: float | None = None
    steps_per_block: int | None = None
    losses: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    idle_cpu_s: float = 0.0
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Plan:
    """How much to measure.

    Attributes:
        look: seconds for which the machine is watched before a round, to see whether it is quiet.
    """

    rounds: int
    seconds: float
    quiet_below: float
    patience: float
    look: float = 0.2


Say = Callable[[str], None]
Finished = Callable[[Sequence[Measurement]], object]


def _ignore(cells: Sequence[Measurement]) -> None:
    """Do nothing with a workload's measurements until the run is over, as by default."""


def run_together(
    workloads: Sequence[str],
    labels: Callable[[str], Sequence[Framework]],
    plan: Plan,
    log: IO[bytes],
    say: Say,
    finished: Finished = _ignore,
) -> tuple[list[Measurement], dict[str, str]]:
    """Measure `workloads` one after the other with one set of workers.

    Args:
        labels: the frameworks to measure for a workload.
        say: is told what is going on.
        finished: gets a workload's measurements as soon as they are there.

    Returns:
        The measurements, in order, and the versions of the libraries.
    """
    workers: dict[str, WorkerProcess] = {}
    refused: dict[str, str] = {}
    versions: dict[str, str] = {}
    measured: list[Measurement] = []
    try:
        for workload in workloads:
            cells = []
            for framework in labels(workload):
                cell = Measurement(workload, framework.label)
                cells.append(cell)
                _start(framework, workers, refused, log)
                if framework.label in refused:
                    cell.error = refused[framework.label]
                    continue
                worker = workers[framework.label]
                versions[framework.library] = worker.version
                cell.import_s = worker.import_seconds
                say(f"{workload}: first calls in {framework.label}")
                _prepare(cell, worker)
            _rounds([c for c in cells if c.error is None], workers, plan, say)
            measured += cells
            finished(cells)
    finally:
        for label, worker in workers.items():
            peak = worker.close()
            for cell in measured:
                if cell.framework == label:
                    cell.peak_mb = peak
    return measured, versions


def _start(
    framework: Framework,
    workers: dict[str, WorkerProcess],
    refused: dict[str, str],
    log: IO[bytes],
) -> None:
    if framework.label in workers or framework.label in refused:
        return
    try:
        workers[framework.label] = WorkerProcess(framework, log)
    except WorkerError as error:
        refused[framework.label] = error.summary


def _prepare(cell: Measurement, worker: WorkerProcess) -> None:
    try:
        answer = worker.request("prepare", workload=cell.workload)
    except WorkerError as error:
        cell.error = error.summary
        return
    cell.first_s, cell.second_s = answer["first_s"], answer["second_s"]
    cell.losses, cell.steps_per_block = answer["losses"], answer["steps"]


def _rounds(
    cells: Sequence[Measurement], workers: dict[str, WorkerProcess], plan: Plan, say: Say
) -> None:
    for number in range(plan.rounds):
        say(f"{cells[0].workload if cells else 'nothing'}: round {number + 1} of {plan.rounds}")
        # Each round starts with another framework: none always follows the same neighbour.
        start = number % len(cells) if cells else 0
        for cell in (*cells[start:], *cells[:start]):
            if cell.error is not None:
                continue
            busy = quiet.wait_until_quiet(plan.quiet_below, plan.patience, plan.look)
            if busy is not None:
                cell.busy.append(busy)
            try:
                answer = workers[cell.framework].request("round", seconds=plan.seconds)
            except WorkerError as error:
                cell.error = error.summary
                continue
            cell.rounds.append(answer["best_s"])
            cell.idle_cpu_s = max(cell.idle_cpu_s, answer["idle_cpu_s"])
