"""What a GPU that is here for a short while is asked, safest first, each line written as it comes.

    python -m benchmarks.on_device                                   within ten minutes
    python -m benchmarks.on_device --budget 300 --nets gpt2 mlp
    python -m benchmarks.on_device --device cpu --tiny               does it run?
    python -m benchmarks.on_device --device stand-in --tiny          what is compiled, without a GPU

The environment; PyTorch's random numbers on CUDA, against what programs on GPUs have printed; ten
nets and three scripts (``workloads/on_accelerators.py``) in each framework. Each is a process of
its own with a limit of time, so that one that hangs or dies costs one line. Lines are JSON, in
``--json``; one that stands there already is not run again, so that a run which was broken off goes
on when it is started again.

Reported of a net: the first step (compiling included), a later one, how many programs XLA compiled
from the net's making to step `STEPS` and for how long, the most memory of the device that was in
use, operations and the share of the device's peak, and the loss after `STEPS` steps. On the
device ``stand-in`` one of the CPU's stands for the GPU: as much is compiled as for one.
Steps are given to the device without waiting for each, as a training loop does that prints now and
then. float32 products have all their bits in each framework.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import build, clock, frameworks, tables
from benchmarks.pool import ROOT
from benchmarks.workloads.on_accelerators import NETS

#: label -> the framework, and what eager calls do.
FRAMEWORKS = {
    "torchlike.jit": ("torchlike.jit", "immediate"),
    "deferred": ("torchlike", "deferred"),
    "torchlike": ("torchlike", "immediate"),
    "torch": ("torch", ""),
    "torch.compile": ("torch.compile", ""),
}
#: Steps after which losses are compared.
STEPS = 5
ROUNDS = 5
#: Long enough that the queue of steps given to the GPU, and waiting for its end, matter little.
BLOCK_SECONDS = 0.2
#: Seconds for one line.
LIMIT = 60.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nets", nargs="*", choices=NETS, default=list(NETS))
    parser.add_argument("--frameworks", nargs="+", choices=FRAMEWORKS, default=list(FRAMEWORKS))
    parser.add_argument("--device", default="cuda", help="of PyTorch's names, or stand-in")
    parser.add_argument("--tiny", action="store_true", help="nets that a CPU runs in a second")
    parser.add_argument("--budget", type=float, default=600, help="seconds in all")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one line")
    parser.add_argument("--json", type=Path, default=Path("on_device.jsonl"))
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        what, label = options.worker
        print(json.dumps(_answer(what, label, options.device, options.tiny)), flush=True)
        return
    found = _read(options.json)
    _run_all(options, found)
    console = Console()
    for net in options.nets:
        console.print(_table(net, {f: line for (n, f), line in found.items() if n == net}))


def _jobs(nets: list[str], labels: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (what, framework), safest first."""
    yield "environment", "torchlike"
    yield "random numbers", "torchlike"
    for net in nets:
        for label in labels:
            if FRAMEWORKS[label][0] in ("torch", "torch.compile") and not _has_torch():
                continue
            yield net, label


def _has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def _read(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the lines of an earlier run by what they are of; one broken off in its midst is not
    there."""
    found = {}
    for text in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        found[line["what"], line["framework"]] = line
    return found


def _run_all(options: argparse.Namespace, found: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Run what is not in ``found``, until the budget is spent, and write each line at once."""
    end = time.monotonic() + options.budget
    for what, label in _jobs(options.nets, options.frameworks):
        if (what, label) in found:
            continue
        left = end - time.monotonic()
        if left <= 0:
            print(f"the budget is spent before {what} in {label}", file=sys.stderr)
            return
        line = _run(what, label, options.device, options.tiny, min(options.limit, left))
        line = {"what": what, "framework": label, **line}
        found[what, label] = line
        with options.json.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)


def _run(what: str, label: str, device: str, tiny: bool, limit: float) -> dict[str, Any]:
    """Run one job in a process of its own, which ends with the limit, and return its line."""
    command = [sys.executable, "-m", "benchmarks.on_device", "--device", device]
    command += [*(["--tiny"] if tiny else []), "--worker", what, label]
    environment = {**os.environ, "TORCHLIKE_EAGER": FRAMEWORKS[label][1]}
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"error": f"not done in {limit:.0f} s"}
    lines = [text for text in done.stdout.splitlines() if text.startswith("{")]
    if done.returncode or not lines:
        return {"error": f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"}
    return {**json.loads(lines[-1]), "seconds": round(time.monotonic() - started, 1)}


# -- in the process of one job ---------------------------------------------------------------------


def _answer(what: str, label: str, device: str, tiny: bool) -> dict[str, Any]:
    """Return the line of one job; an error is a line, too."""
    if device == "stand-in":
        importlib.import_module("torchlike._runtime.platforms").stand_for_gpu()
        device = "cuda"
    try:
        if what == "environment":
            return _environment()
        if what == "random numbers":
            return _random_numbers(device)
        return _measured(frameworks.parse(FRAMEWORKS[label][0]), what, device, tiny)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def _environment() -> dict[str, Any]:
    import jax

    import torchlike

    devices = jax.devices()
    return {
        "devices": [d.device_kind for d in devices],
        "memory": (devices[0].memory_stats() or {}).get("bytes_limit"),
        "jax": jax.__version__,
        "torchlike": torchlike.__version__,
        "python": platform.python_version(),
        "platform_version": str(devices[0].client.platform_version)[:200],
    }


def _random_numbers(device: str) -> dict[str, Any]:
    """Compare with what programs on GPUs have printed: how many rows are equal to four digits."""
    sys.path.insert(0, str(ROOT / "tests"))
    import numpy as np

    import torchlike
    from torchlike.random.cuda import cards

    published = importlib.import_module("printed_on_cuda").PUBLISHED
    wrong = []
    for row in published:
        cards.set_card(row.card)
        generator = torchlike.Generator(device="cuda").manual_seed(row.seed)
        generator.set_offset(row.skip)
        torchlike.set_default_device(device)
        values = row.call(generator).cpu().double().flatten().numpy()
        torchlike.set_default_device(None)
        wanted = np.array(row.numbers.split(), float)
        if not np.allclose(values, wanted, rtol=0, atol=6e-5):
            wrong.append(row.name)
    cards.set_card(None)
    return {"rows": len(published), "wrong": wrong}


class _Compiled:
    """How many programs XLA has compiled in this process, and the seconds that they took."""

    def __init__(self) -> None:
        import jax

        self.programs, self.compiling = 0, 0.0
        jax.monitoring.register_event_duration_secs_listener(self._hear)

    def _hear(self, event: str, duration_secs: float, **_: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            self.programs, self.compiling = self.programs + 1, self.compiling + duration_secs

    def end(self) -> dict[str, float]:
        """Return what was compiled until now."""
        import jax

        jax.monitoring.unregister_event_duration_listener(self._hear)
        return vars(self).copy()


def _measured(framework: frameworks.Framework, net: str, device: str, tiny: bool) -> Any:
    library, _ = build.import_library(framework)
    is_torch = framework.library == "torch"
    compiled = None if is_torch else _Compiled()
    library.set_default_device(device)
    library.manual_seed(0)
    made = NETS[net](library, tiny)
    library.set_default_device(None)
    calls_each = 1
    if net == "generation":
        calls_each = made[2]
        runner = _generating(framework, library, *made)
    else:
        runner = build.training_in_torch(framework, library, made)
    if is_torch and device == "cuda":
        runner = replace(runner, finish=library.cuda.synchronize)
    calls = [clock.timed_call(runner) for _ in range(STEPS)]
    told = {} if compiled is None else compiled.end()
    runner = replace(runner, wait_each=False)
    steps = 1 if tiny else clock.steps_per_block(runner, BLOCK_SECONDS)
    step = median(clock.block(runner, steps) for _ in range(1 if tiny else ROUNDS))
    return {
        "first": calls[0][0],
        "step": step,
        "losses": [value for _, value in calls],
        "peak": library.cuda.max_memory_allocated() if is_torch else _peak_of_xla(),
        **({} if is_torch else {**told, **_work(step / calls_each)}),
    }


def _generating(
    framework: frameworks.Framework, library: Any, step: Any, arguments: Any, tokens: int
) -> clock.Runner:
    """Return a runner of which a step is all the tokens."""
    step = (library.compile if framework.compiled else lambda f: f)(step)

    def generate() -> Any:
        now = arguments
        for _ in range(tokens):
            now = step(*now)
        return now[0].float().mean()

    return clock.Runner(generate, lambda loss: loss.item(), value=lambda loss: loss.item())


def _peak_of_xla() -> int:
    import jax

    return (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)


def _work(seconds: float) -> dict[str, Any]:
    """Return what a call of the largest program computes, and its share of the device's peak."""
    from torchlike._jit.call.function import functions
    from torchlike.porting.plan.work import peak_of, work_of

    programs = [p for f in functions() if (p := f.program_that_ran()) is not None]
    if not programs:
        return {}
    work = max(map(work_of, programs), key=lambda w: w.total)
    return {"flops": work.flops, "bytes": work.bytes, "share": work.share(seconds, peak_of())}


def _table(title: str, cells: dict[str, dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    columns = ("framework", "first step", "later step", "÷ torch", "programs", "compiling")
    columns += ("memory", "of the peak", "loss")
    for column in columns:
        table.add_column(column, justify="left" if column == "framework" else "right")
    for label, cell in cells.items():
        if "error" in cell:
            table.add_row(label, "failed", cell["error"])
            continue
        other, share = cells.get("torch", {}).get("step"), cell.get("share")
        table.add_row(
            label,
            tables.duration(cell["first"]),
            tables.duration(cell["step"]),
            "" if other is None else f"{cell['step'] / other:.2f}",
            str(cell.get("programs", "")),
            tables.duration(cell["compiling"]) if "compiling" in cell else "",
            f"{cell['peak'] / 1e9:.2f} GB",
            "" if share is None else f"{share:.0%}",
            f"{cell['losses'][-1]:.5f}",
        )
    return table


if __name__ == "__main__":
    main()
