"""Runs a script on torchlike and on PyTorch, and says where they first differ."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from torchlike.porting.compare import EAGER, TORCH, RunFailedError, Setup, record
from torchlike.porting.divergence.comparing import Comparison, Divergence
from torchlike.porting.divergence.narrowing import first_different
from torchlike.porting.divergence.observe import OPTION
from torchlike.porting.recording import MODULE_FLAG
from torchlike.porting.shim.environment import has_pytorch

#: Exit codes: a difference was found; the runs could not be compared.
DIFFERENT = 3
NOT_COMPARED = 2

_HERE = replace(EAGER, label="torchlike", command=EAGER.command[:2])
_THERE = replace(TORCH, label="PyTorch")


def run(
    argv: Sequence[str],
    *,
    as_module: bool = False,
    with_torch: bool = True,
    tolerance: float = 1e-4,
    steps: int = 20,
    json_path: Path | None = None,
    console: Console | None = None,
) -> int:
    """Say where the two runs of a script first differ: step, module and operation.

    Args:
        argv: the script's path (or the module's name) and its arguments.
        as_module: whether ``argv[0]`` is a module's name.
        with_torch: whether it may run with real PyTorch, which this needs.
        tolerance: of values, relative to the norm of a tensor.
        steps: after how many updates the runs are ended.
        json_path: where what was found is written, too.

    Returns:
        The exit code: 0 where nothing differs, 3 where something does, 2 where nothing could be
        compared, or that of the first run that failed.
    """
    console = console or Console()
    if not with_torch:
        console.print("--find-divergence compares with real PyTorch: give --torch as well.")
        return NOT_COMPARED
    if not has_pytorch():
        console.print("--torch needs real PyTorch: pip install 'torchlike\\[parity]'")
        return NOT_COMPARED
    script = [MODULE_FLAG, *argv] if as_module else list(argv)
    try:
        console.rule(_HERE.label)
        here = _seen(_HERE, {"steps": steps}, script)
        console.rule(_THERE.label)
        there = _seen(_THERE, {"steps": steps}, script)
        console.rule()
        comparison = Comparison(here, there, tolerance)
        if not (here["events"] or there["events"]):
            console.print(
                "Nothing to compare: the script called no module, no backward() and no step().",
                style="red",
            )
            return NOT_COMPARED
        found = comparison.first()
        if found is not None and found.trace is not None:
            _narrow(found, script, tolerance)
    except RunFailedError as error:
        console.print(str(error), style="red", markup=False)
        return error.exit_code
    _tell(console, comparison, found)
    if json_path is not None:
        entries = {
            "steps": comparison.steps,
            "modules": comparison.modules,
            "tolerance": tolerance,
            "divergence": None if found is None else found.as_json(),
        }
        json_path.write_text(json.dumps(entries, indent=1), encoding="utf-8")
    return 0 if found is None else DIFFERENT


def _seen(
    setup: Setup,
    wanted: dict[str, int],
    script: list[str],
    shows: Callable[[str], bool] = lambda line: True,
) -> dict[str, Any]:
    observing = replace(setup, command=(*setup.command, f"{OPTION}={json.dumps(wanted)}"))
    return record(observing, script, shows)[0]


def _narrow(found: Divergence, script: list[str], tolerance: float) -> None:
    """Run both again, and note the operations of the part in which they differ."""
    assert found.trace is not None
    here, there = (
        _seen(setup, wanted, script, lambda line: False)["operations"]
        for setup, wanted in zip((_HERE, _THERE), found.trace, strict=True)
    )
    found.operation = first_different(here, there, tolerance)


def _tell(console: Console, comparison: Comparison, found: Divergence | None) -> None:
    if found is None:
        console.print(
            f"no difference found in {comparison.steps} steps, {comparison.modules} modules"
        )
        return
    table = Table(title="first difference: torchlike and PyTorch", title_justify="left")
    table.add_column("what", no_wrap=True)
    table.add_column("", overflow="fold")
    for name, value in rows(found):
        table.add_row(name, value)
    console.print(table, markup=False)


def rows(found: Divergence) -> list[tuple[str, str]]:
    """What was found, each part with its name."""
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
