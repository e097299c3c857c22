"""Training steps on this machine's GPU: torchlike, PyTorch and hand-written JAX on the same one.

    python -m benchmarks.on_device                                      a few minutes
    python -m benchmarks.on_device --workloads gpt2 --json out.json

Each framework runs in a process of its own, one after another, with all nets. Reported: the first
step (compiling included), a later one, the most memory of the GPU that was in use, and the loss
after `STEPS` steps, by which it is seen that all compute the same. Steps are given to the GPU
without waiting for each, as a training loop does that prints now and then. float32 products have
all their bits in each framework.

Beside the GPT-2 step stands its plan (``torchlike.plan``), made for the same GPU.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import build, clock, frameworks, tables
from benchmarks.pool import ROOT
from benchmarks.workloads import LONG, TRAINING, gpt2

FRAMEWORKS = ("torchlike.jit", "torchlike", "torch", "torch.compile", "jax")
NETS = {
    "mlp": TRAINING["mlp"],
    "cnn": TRAINING["cnn"],
    "resnet": LONG["resnet"],
    "gpt": TRAINING["gpt"],
    "lstm": TRAINING["lstm"],
    "gpt2": gpt2,
}
#: Steps after which losses are compared.
STEPS = 5
ROUNDS = 5
#: Long enough that the queue of steps given to the GPU, and waiting for its end, matter little.
BLOCK_SECONDS = 0.2


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workloads", nargs="+", choices=NETS, default=list(NETS))
    parser.add_argument("--frameworks", nargs="+", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--device", default="cuda", help="of PyTorch's names")
    parser.add_argument("--json", type=Path, help="write every measurement there")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _serve(frameworks.parse(options.worker), options.workloads, options.device)
        return
    found: dict[str, dict[str, Any]] = {name: {} for name in options.workloads}
    console = Console()
    for label in options.frameworks:
        for line in _run(label, options.workloads, options.device):
            console.print_json(json.dumps({"framework": label, **line}), indent=None)
            found[line.pop("workload")][label] = line
            if options.json:  # each as it comes: they take minutes
                options.json.write_text(json.dumps(found, indent=1))
    for name, cells in found.items():
        console.print(_table(NETS[name].TITLE, cells))


def _run(label: str, names: list[str], device: str) -> Iterator[dict[str, Any]]:
    """Yield the measurements of one framework; what ended its process is told and leaves the
    rest."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.on_device",
        "--worker",
        label,
        "--device",
        device,
        "--workloads",
        *names,
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
    if process.returncode:
        print(f"{label} ended with exit code {process.returncode}", file=sys.stderr)


def _serve(framework: frameworks.Framework, names: list[str], device: str) -> None:
    library, _ = build.import_library(framework)
    for name in names:
        if framework.library == "jax" and not hasattr(NETS[name], "in_jax"):
            continue
        try:
            line = _measured(framework, library, name, device)
        except Exception as error:  # the next net is worth its time
            line = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps({"workload": name, **line}), flush=True)


def _measured(framework: frameworks.Framework, library: Any, name: str, device: str) -> Any:
    module = NETS[name]
    if framework.library == "jax":
        library.config.update("jax_default_matmul_precision", "highest")
        runner = build.training_in_jax(module.in_jax(module.problem()))
        peak = _peak_of_xla
    else:
        library.set_default_device(device)
        runner = build.training_in_torch(
            framework, library, module.in_torch(library, module.problem())
        )
        library.set_default_device(None)
        is_torch = framework.library == "torch"
        peak = library.cuda.max_memory_allocated if is_torch else _peak_of_xla
        if is_torch and device == "cuda":
            runner = replace(runner, finish=library.cuda.synchronize)
    calls = [clock.timed_call(runner) for _ in range(STEPS)]
    runner = replace(runner, wait_each=False)
    steps = clock.steps_per_block(runner, BLOCK_SECONDS)
    return {
        "first": calls[0][0],
        "step": median(clock.block(runner, steps) for _ in range(ROUNDS)),
        "losses": [value for _, value in calls],
        "peak": peak(),
    }


def _peak_of_xla() -> int:
    import jax

    return (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)


def _table(title: str, cells: dict[str, dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in (
        "framework",
        "first step",
        "later step",
        "÷ torch",
        "÷ jax",
        "GPU memory",
        "loss",
    ):
        table.add_column(column, justify="left" if column == "framework" else "right")
    for label, cell in cells.items():
        if "error" in cell:
            table.add_row(label, "failed", cell["error"])
            continue
        over = [cells[o]["step"] if "step" in cells.get(o, {}) else None for o in ("torch", "jax")]
        table.add_row(
            label,
            tables.duration(cell["first"]),
            tables.duration(cell["step"]),
            *("" if o is None else f"{cell['step'] / o:.2f}" for o in over),
            f"{cell['peak'] / 1e9:.2f} GB",
            f"{cell['losses'][-1]:.5f}",
        )
    return table


if __name__ == "__main__":
    main()
