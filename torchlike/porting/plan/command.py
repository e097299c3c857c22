"""``torchlike plan``: a script's training step, planned for a machine that is not here."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torchlike
from torchlike._core import devices
from torchlike._core.errors import JitCaptureError
from torchlike._runtime import whole_files
from torchlike.porting import script, torch_alias
from torchlike.porting.plan import advice, fetching, loops, modules, page, table
from torchlike.porting.plan.planning import Plan, plan
from torchlike.porting.plan.step import ABSENT_VALUES, StepReadsValues
from torchlike.porting.plan.topologies import require, topology


class _Planned(SystemExit):
    """The script's step was met: nothing of it runs from there on."""


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
    """Run a script up to its first training step, plan that, and print the plan. Returns the exit
    code: 0, 1 where the step does not fit or cannot be planned, 2 for a wrong request."""
    try:
        axes = parse_mesh(mesh)
        where = topology(topology_name)
        where.mesh(axes)
        require(where.platform)
    except (ValueError, ImportError) as error:
        print(f"torchlike: {error}", file=sys.stderr)
        return 2
    options = {"topology": topology_name, "mesh": axes, "fsdp": fsdp}
    found: list[Plan] = []

    def told(step: Any, *batch: Any) -> None:
        if advise:
            found.extend(advice.tried(step, batch, options))
        else:
            found.append(plan(step, *batch, **options))
        raise _Planned(0)

    torch_alias.install()
    fetching.begin_mapping(with_values)
    torchlike.jit.set_mode("off")  # the step is captured as a whole
    fetched = functools.partial(fetching.fetched, with_values)
    prepare = loops.planning_loops(_explained(told), fetched)
    try:
        with modules.prepared(prepare), fetching.loaders(fetched):
            script.run(argv, prepare=prepare, explain=None if with_values else _explain)
    except _Planned:
        pass
    finally:
        devices.map_types({})
        devices.set_default_device(None)
        torchlike.jit.set_mode("on")
    if not found:
        print(
            f"torchlike: {argv[0]} ended without a training step: no loop of its own or of "
            "modules beside it calls backward() and an optimizer's step(), in itself or in a "
            "function that it calls. Put the step into such a loop, or call torchlike.plan(step, "
            "*example_batch, topology=...)",
            file=sys.stderr,
        )
        return 1
    table.show(found[0])
    if advise:
        table.show_advice(found)
    if json_path is not None:
        found[0].to_json(json_path)
    if html_path is not None:
        whole_files.write_text(html_path, page.html(found))
    return 0 if found[0].fits else 1


def _explain(error: BaseException) -> None:
    """Add a note to the error of a script that asked for a value before its first step."""
    if any(words in str(error) for words in ABSENT_VALUES):
        error.add_note(
            "A plan makes tensors without values, but for batches. With --values the script has "
            "them, on the CPU."
        )


def _explained(told: Callable[..., None]) -> Callable[..., None]:
    """Wrap ``told`` so that its errors end the script in words instead of a traceback."""

    def explained(step: Any, *batch: Any) -> None:
        try:
            told(step, *batch)
        except (StepReadsValues, JitCaptureError, ValueError, KeyError) as error:
            print(f"torchlike: {error}", file=sys.stderr)
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
