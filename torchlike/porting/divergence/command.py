"""Runs a script in two ways, and says where they first differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from torchlike._runtime import whole_files
from torchlike.porting.compare import (
    EAGER,
    MARKED,
    NEEDS_PYTORCH,
    TORCH,
    RunFailedError,
    Setup,
    record,
)
from torchlike.porting.divergence import narrowing
from torchlike.porting.divergence.comparing import Comparison, Divergence
from torchlike.porting.divergence.in_float64 import Verdict, judged
from torchlike.porting.divergence.observe import OPTION
from torchlike.porting.recording import MODULE_FLAG
from torchlike.porting.shim.environment import has_pytorch

#: Exit codes: a difference was found; the runs could not be compared.
DIFFERENT = 3
NOT_COMPARED = 2

_AT_ONCE = {"TORCHLIKE_COMPILE": "off", "TORCHLIKE_EAGER": "deferred-at-once"}
_DEFERRED = Setup("deferred", (), _AT_ONCE)

UNSEEDED = (
    "Each run drew its own random numbers: call torch.manual_seed() at the script's begin, and "
    "compare again."
)

_COMMAND = EAGER.command[:2]

#: Operations that are judged, of those that may make a difference.
_MOST_ACCUSED = 3


@dataclass
class _Way:
    """One way to run the script, and what was seen of it."""

    setup: Setup
    #: What is compiled, where the setup does not say.
    options: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)

    def run(
        self,
        wanted: dict[str, Any],
        script: list[str],
        shows: Callable[[str], bool] = lambda line: True,
    ) -> dict[str, Any]:
        option = f"{OPTION}={json.dumps({**wanted, **self.options})}"
        setup = replace(self.setup, command=(*self.setup.command, option))
        return record(setup, script, shows)[0]


def run(
    argv: Sequence[str],
    *,
    as_module: bool = False,
    with_torch: bool = True,
    torch_python: str | None = None,
    tolerance: float = 1e-4,
    steps: int = 20,
    json_path: Path | None = None,
    console: Console | None = None,
) -> int:
    """Say where two runs of a script first differ: step, module and operation.

    Args:
        argv: the script's path (or the module's name) and its arguments.
        as_module: whether ``argv[0]`` is a module's name.
        with_torch: whether torchlike is compared with real PyTorch, both eager; else torchlike's
            eager run is compared with its compiled one.
        torch_python: the Python that has PyTorch; this one by default.
        tolerance: of values, relative to the norm of a tensor.
        steps: after how many updates the runs are ended.
        json_path: where what was found is written, too.

    Returns:
        The exit code: 0 where nothing differs, 3 where something does, 2 where nothing could be
        compared, or that of the first run that failed.
    """
    console = console or Console()
    if with_torch and torch_python is None and not has_pytorch():
        console.print(NEEDS_PYTORCH)
        return NOT_COMPARED
    script = [MODULE_FLAG, *argv] if as_module else list(argv)
    label = "torchlike" if with_torch else "eager"
    here = _Way(replace(EAGER, label=label, command=_COMMAND))
    try:
        console.rule(label)
        here.seen = here.run({"steps": steps, "find_step": not with_torch}, script)
        if with_torch:
            there = _Way(replace(TORCH, label="PyTorch", python=torch_python))
            console.rule(there.setup.label)
            there.seen = there.run({"steps": steps}, script)
        else:
            there = _compiled(here.seen, steps, script, console)
        console.rule()
        comparison = Comparison(here.seen, there.seen, tolerance)
        if not (here.seen["events"] or there.seen["events"]):
            console.print(
                "Nothing to compare: the script called no module, no backward() and no step().",
                style="red",
            )
            return NOT_COMPARED
        if not with_torch and not there.seen["programs"]:
            console.print("Nothing was compiled; what was printed above says why.", style="red")
            return NOT_COMPARED
        found = comparison.first()
        if found is not None and found.trace is not None:
            _narrow(found, (here, there), script, tolerance)
    except RunFailedError as error:
        console.print(str(error), style="red", markup=False)
        return error.exit_code
    labels = here.setup.label, there.setup.label
    _tell(console, comparison, found, labels)
    if found is not None and here.seen["seed"] != there.seen["seed"]:
        console.print(UNSEEDED, style="yellow", soft_wrap=True)
    if json_path is not None:
        entries = {
            "runs": labels,
            "steps": comparison.steps,
            "modules": comparison.modules,
            "programs": there.seen["programs"],
            "tolerance": tolerance,
            "divergence": None if found is None else found.as_json(),
        }
        whole_files.write_text(json_path, json.dumps(entries, indent=1))
    return 0 if found is None else DIFFERENT


def _compiled(eager: dict[str, Any], steps: int, script: list[str], console: Console) -> _Way:
    """Return the compiled run of a script: what it marks, or the function that is a whole step, or
    what comes between two values that are asked for."""
    step = eager["step_function"]
    deferred = _Way(replace(_DEFERRED, command=_COMMAND))
    ways = [deferred]
    if eager["marked"]:
        ways = [_Way(replace(MARKED, command=_COMMAND))]
    elif step is not None and step["file"] == eager["script_file"]:
        label = f"{step['name']} compiled"
        way = _Way(replace(MARKED, label=label, command=_COMMAND), {"whole_step": step["line"]})
        ways = [way, deferred]
    for way in ways:
        console.rule(way.setup.label)
        way.seen = way.run({"steps": steps}, script)
        if way.seen["programs"]:
            break
    return way


def _narrow(
    found: Divergence, ways: tuple[_Way, _Way], script: list[str], tolerance: float
) -> None:
    """Run both again, and note the operations of the part in which they differ."""
    assert found.trace is not None
    both = list(zip(ways, found.trace, strict=True))

    def traced(*more: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            way.run({**wanted, **one}, script, lambda line: False)
            for (way, wanted), one in zip(both, more, strict=True)
        ]

    narrow(found, traced, tolerance)


def narrow(
    found: Divergence, traced: Callable[..., list[dict[str, Any]]], tolerance: float
) -> None:
    """Name the operation of a divergence: the first that is not acquitted by its float64 runs, or
    without one the first, with what they say of it.

    Args:
        traced: runs both with an ``OperationTracer``, each with arguments of its own beside those
            of the divergence, and returns what they note.
    """
    here, there = traced({}, {})
    acquitted: list[dict[str, Any]] = []
    for _ in range(_MOST_ACCUSED):
        accused = _accused(found, here, there, tolerance, acquitted)
        if accused is None:
            return
        pair = accused.pop("pair", None)
        verdict = None if pair is None else _verdict(pair, (here, there), traced, tolerance)
        if pair is None or verdict is None:
            found.operation = accused
            return
        if verdict.is_fault:
            found.operation = {**accused, "says": f"{accused['says']}; {verdict.says}"}
            return
        found.operation = found.operation or {**accused, "says": verdict.says}
        acquitted.append(pair[0])


def _accused(
    found: Divergence,
    here: dict[str, Any],
    there: dict[str, Any],
    tolerance: float,
    acquitted: list[dict[str, Any]],
) -> dict[str, Any] | None:
    operations = here["operations"], there["operations"]
    if found.kind == "backward":
        return narrowing.first_backward(here, there, tolerance, acquitted)
    if found.kind == "optimizer":
        line = found.line
        return narrowing.of_update(*operations, found.of, line, tolerance, acquitted)
    return narrowing.first_different(*operations, tolerance, acquitted)


def _verdict(
    pair: tuple[dict[str, Any], dict[str, Any]],
    runs: tuple[dict[str, Any], dict[str, Any]],
    traced: Callable[..., list[dict[str, Any]]],
    tolerance: float,
) -> Verdict | None:
    """Run both once more for the values of an operation, and judge it."""
    again = traced(*({"values_of": [one["name"], one["line"]]} for one in pair))
    noted: list[dict[str, Any]] = []
    for one, run, other in zip(pair, runs, again, strict=True):
        at = next(i for i, entry in enumerate(run["operations"]) if entry is one)
        noted += other["operations"][at : at + 1]
    if len(noted) != 2 or any(a["name"] != b["name"] for a, b in zip(noted, pair, strict=True)):
        return None
    return judged(pair[0]["name"], noted[0], noted[1], tolerance)


def _tell(
    console: Console, comparison: Comparison, found: Divergence | None, labels: tuple[str, str]
) -> None:
    if found is None:
        passes = f"{comparison.passes} backward passes"
        steps = f"{comparison.steps} steps" if comparison.steps else passes
        console.print(f"no difference found in {steps}, {comparison.modules} modules")
        return
    title = f"first difference: {labels[0]} (here) and {labels[1]} (there)"
    table = Table(title=title, title_justify="left")
    table.add_column("what", no_wrap=True)
    table.add_column("", overflow="fold")
    for name, value in rows(found):
        table.add_row(name, value)
    console.print(table, markup=False)


def rows(found: Divergence) -> list[tuple[str, str]]:
    """Return the parts of what was found, each with its name."""
    made = [("step", str(found.step))]
    if found.module is not None:
        name = found.module or "(the outermost)"
        made.append(("module", f"{name}: {found.of}, in {found.root}"))
    elif found.kind == "optimizer":
        made.append(("optimizer", found.of))
    made += [(found.kind, found.says), *(("", detail) for detail in found.details)]
    if found.operation is not None:
        made.append(("operation", f"{found.operation['name']}: {found.operation['says']}"))
    line = found.line if found.operation is None else found.operation["line"] or found.line
    return [*made, ("line", line)]
