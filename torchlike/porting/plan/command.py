"""``torchlike plan``: a script's training step, planned for a machine that is not here."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torchlike
from torchlike._core import devices
from torchlike._core.errors import JitCaptureError
from torchlike._runtime import whole_files
from torchlike.porting import script, torch_alias
from torchlike.porting.plan import advice, fetching, loops, modules, page, phases, table
from torchlike.porting.plan.planning import Plan, Target, target_of
from torchlike.porting.plan.step import ABSENT_VALUES, StepReadsValues
from torchlike.porting.plan.topologies import require


class _Planned(SystemExit):
    """The script's steps are known: nothing of it runs from there on."""


#: After so many steps without an update nobody waits for one.
_MOST_STEPS = 1_000


def run(
    argv: Sequence[str],
    *,
    topology_name: str,
    mesh: str | None,
    fsdp: str | None,
    with_values: bool,
    advise: bool,
    json_path: Path | None,
    html_path: Path | None,
) -> int:
    """Run a script up to its first training step, or until it has shown each kind of step that it
    has, plan those, and print the plan. Returns the exit code: 0, 1 where a step does not fit or
    cannot be planned, 2 for a wrong request."""
    try:
        options = {"topology": topology_name, "mesh": parse_mesh(mesh), "fsdp": fsdp}
        target = target_of(**options)
        require(target.topology.platform)
    except (ValueError, ImportError) as error:
        print(f"torchlike: {error}", file=sys.stderr)
        return 2
    found = _planned(argv, target, options if advise else None, with_values)
    if not found.plans:
        print(
            f"torchlike: {argv[0]} ended without a training step: no loop of its own or of "
            "modules beside it calls backward() and an optimizer's step(), in itself or in a "
            "function that it calls. Put the step into such a loop, or call torchlike.plan(step, "
            "*example_batch, topology=...)",
            file=sys.stderr,
        )
        return 1
    table.show(found.largest)
    if len(found.plans) > 1:
        table.show_phases(found.plans)
    if found.changes:
        table.show_advice(found.changes)
    if json_path is not None:
        whole_files.write_text(json_path, found.to_json() + "\n")
    if html_path is not None:
        whole_files.write_text(
            html_path, page.html([found.largest, *found.changes[1:]], found.plans)
        )
    return 0 if found.largest.fits else 1


@dataclasses.dataclass
class _PlansOfSteps:
    """What was planned: one plan for each kind of step, and what changes to the last kind give."""

    plans: list[Plan] = dataclasses.field(default_factory=list)
    changes: list[Plan] = dataclasses.field(default_factory=list)

    @property
    def largest(self) -> Plan:
        return max(self.plans, key=lambda plan: plan.needed)

    def to_json(self) -> str:
        """Return the largest plan as JSON, with all under "phases" where there are several."""
        phases = [plan.as_dict() for plan in self.plans]
        several = {"phases": phases} if len(phases) > 1 else {}
        return json.dumps(self.largest.as_dict() | several, indent=2)


def _planned(
    argv: Sequence[str], target: Target, advised: dict[str, Any] | None, with_values: bool
) -> _PlansOfSteps:
    """Run the script and plan its steps; ``advised`` are the options by which changes are tried."""
    found = _PlansOfSteps()

    def told(step: Any, *batch: Any) -> None:
        _tell(f"capturing the step, for {target.topology.name}")
        found.plans.append(target.plan(target.capture(step, batch)))
        if advised is not None:
            found.changes = advice.tried(step, batch, advised, has_run=True)
        raise _Planned(0)

    steps = phases.Phases(lambda step, batch: target.capture(step, batch, has_run=True), _tell)

    def followed(step: Any, *batch: Any) -> None:
        done = steps.follow(step, batch)
        if not done and (steps.length or steps.seen < _MOST_STEPS):
            return
        if advised is not None:
            found.changes = advice.tried(step, batch, advised, has_run=True)
        raise _Planned(0)

    torch_alias.install()
    fetching.begin_mapping(with_values)
    torchlike.jit.set_mode("off")  # the step is captured as a whole
    fetched = functools.partial(fetching.fetched, with_values)
    prepare = loops.planning_loops(_explained(told), fetched, _explained(followed))
    ended = contextlib.suppress(_Planned)
    try:
        with ended, modules.prepared(prepare), fetching.loaders(fetched), _without_bars():
            script.run(argv, prepare=prepare, explain=None if with_values else _explain)
        if steps.seen and not found.plans:
            found.plans = _explained(_plans_of)(steps, target)
    finally:
        devices.map_types({})
        devices.set_default_device(None)
        torchlike.jit.set_mode("on")
    return found


def _plans_of(steps: phases.Phases, target: Target) -> list[Plan]:
    """Return the plans of a loop that was followed, to its end where it did not show all kinds."""
    if not steps.kept and steps.last is not None:
        step, batch = steps.last
        steps.kept[phases.UPDATES if steps.length else phases.ADDS] = steps.capture(step, batch)
    if not steps.length:
        _tell(
            f"no update of parameters in the loop's {steps.seen} steps: what an optimizer needs is "
            "not in this plan. Give the script more data, or fewer steps from update to update"
        )
    counts = steps.counts()
    if len(counts) == 1:
        return [target.plan(captured) for captured in steps.kept.values()]
    return [
        dataclasses.replace(target.plan(steps.kept[kind]), phase=kind, steps=n)
        for kind, n in counts.items()
    ]


def _tell(text: str) -> None:
    print(f"torchlike: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _without_bars() -> Iterator[None]:
    """Have tqdm draw no bar in a ``with`` block: the loop ends where the plan begins, and the bar
    would stay in front of it."""
    before = os.environ.get("TQDM_DISABLE")
    os.environ["TQDM_DISABLE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TQDM_DISABLE"]
        else:
            os.environ["TQDM_DISABLE"] = before


_WITH_VALUES = ". With --values the script has them, on the CPU"


def _explain(error: BaseException) -> None:
    """Add a note to the error of a script that asked for a value before its first step."""
    if any(words in str(error) for words in ABSENT_VALUES):
        error.add_note(f"A plan makes tensors without values, but for batches{_WITH_VALUES}.")


def _explained(told: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``told`` so that its errors end the script in words instead of a traceback."""

    def explained(*args: Any) -> Any:
        try:
            return told(*args)
        except (StepReadsValues, JitCaptureError, ValueError, KeyError) as error:
            asks = isinstance(error, StepReadsValues)
            print(f"torchlike: {error}{_WITH_VALUES if asks else ''}", file=sys.stderr)
            raise SystemExit(1) from None

    return explained


def parse_mesh(text: str | None) -> dict[str, int] | None:
    """Parse ``data=16,model=16`` to a dictionary. ValueError for what is no mesh."""
    if not text:
        return None
    axes: dict[str, int] = {}
    for part in text.split(","):
        name, _, size = part.partition("=")
        if not name.strip().isidentifier() or not size.strip().isdecimal() or not int(size):
            raise ValueError(f"--mesh {text}: write it as data=16,model=16")
        axes[name.strip()] = int(size)
    return axes
