"""``torchlike plan``: a script's training step, planned for a machine that is not here."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torchlike._core import devices, modes
from torchlike._core.errors import JitCaptureError
from torchlike._core.tensor import Tensor
from torchlike._core.trees import flatten, unflatten
from torchlike.porting import script, torch_alias
from torchlike.porting.plan import advice, loops, modules, page, table
from torchlike.porting.plan.planning import Plan, plan
from torchlike.porting.plan.step import StepReadsValues
from torchlike.porting.plan.topologies import require, topology


class _Planned(SystemExit):
    """The script's step was met: nothing of it runs from there on."""


def run(
    argv: Sequence[str], *, topology_name: str, mesh: str | None, fsdp: str | None,
    with_values: bool, advise: bool, json_path: Path | None, html_path: Path | None,
) -> int:  # fmt: skip
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
    begin_mapping(with_values)
    fetching = functools.partial(_fetching, with_values)
    prepare = loops.planning_loops(_explained(told), fetching)
    try:
        with modules.prepared(prepare):
            script.run(argv, prepare=prepare)
    except _Planned:
        pass
    finally:
        devices.map_types({})
        devices.set_default_device(None)
    if not found:
        print(
            f"torchlike: {argv[0]} ended without a training step: no loop of its own or of "
            "modules beside it calls backward() and an optimizer's step(), in itself or in a "
            "function that it calls. Put the step into such a loop, or call torchlike.plan(step, "
            "*example_batch, topology=...)", file=sys.stderr,
        )  # fmt: skip
        return 1
    table.show(found[0])
    if advise:
        table.show_advice(found)
    if json_path is not None:
        found[0].to_json(json_path)
    if html_path is not None:
        html_path.write_text(page.html(found), encoding="utf-8")
    return 0 if found[0].fits else 1


def _explained(told: Callable[..., None]) -> Callable[..., None]:
    """``told``, whose errors end the script in words instead of a traceback."""

    def explained(step: Any, *batch: Any) -> None:
        try:
            told(step, *batch)
        except (StepReadsValues, JitCaptureError, ValueError, KeyError) as error:
            print(f"torchlike: {error}", file=sys.stderr)
            raise SystemExit(1) from None

    return explained


#: Device types that scripts name.
_NAMED = ("cpu", "cuda", "xla", "tpu", "mps")


def begin_mapping(with_values: bool) -> None:
    """Models and batches are made on the meta device, whatever device a script names; with values,
    on the CPU."""
    if with_values:
        devices.map_types(dict.fromkeys(_NAMED[1:], "cpu"))
    else:
        devices.map_types(dict.fromkeys(_NAMED, "meta"))
        devices.set_default_device("meta")


def _fetching(with_values: bool, function: Callable[..., Any]) -> Callable[..., Any]:
    """A script's function that fetches a batch: no part of a step, and run with values, so that it
    may read some; of what it gives a plan knows the shapes."""

    @functools.wraps(function)
    def fetched(*args: Any, **kwargs: Any) -> Any:
        if modes.current.capture is not None or with_values:
            with modes.outside():
                return function(*args, **kwargs)
        device, mapping = modes.current.device, devices.mapping()
        modes.current.device = None
        begin_mapping(with_values=True)
        try:
            leaves, structure = flatten(function(*args, **kwargs))
        finally:
            modes.current.device = device
            devices.map_types(mapping)
        moved = [x.to("meta") if isinstance(x, Tensor) else x for x in leaves]
        return unflatten(structure, moved)

    return fetched


def parse_mesh(text: str | None) -> dict[str, int] | None:
    """``data=16,model=16`` as a dictionary. ValueError for what is no mesh."""
    if not text:
        return None
    axes: dict[str, int] = {}
    for part in text.split(","):
        name, _, size = part.partition("=")
        if not name.strip().isidentifier() or not size.strip().isdecimal() or not int(size):
            raise ValueError(f"--mesh {text}: write it as data=16,model=16")
        axes[name.strip()] = int(size)
    return axes
