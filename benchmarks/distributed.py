"""Two processes: all_reduce against PyTorch's gloo, and what data parallelism adds to a step.

``python -m benchmarks.distributed`` starts both frameworks in turn, three times, and prints the
least of each; ``--quick`` starts each once, with small sizes, to see that it runs;
``--only torchlike`` leaves PyTorch out. Every way of a step begins with the same weights and takes
the same batch in both processes, so all have the same losses, which is checked.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.workloads import gpt, mlp

SIZES = {"4 KB": 1 << 10, "4 MB": 1 << 20, "100 MB": 25 << 20}
#: Seconds for which something is reduced before an all_reduce is timed. Half a second after a
#: compilation large blocks are still taken anew each time (torchlike.porting.allocator).
_WARM_UP = 1.0
MODELS = {"MLP": mlp, "GPT": gpt}
#: What a step is: (behind the model's name, with DistributedDataParallel, as one program).
WAYS = (
    ("step", False, False),
    ("step, DDP", True, False),
    ("step, captured", False, True),
    ("step, DDP, captured", True, True),
)
Times = dict[str, float]


def _least(run: Callable[[], object], times: int) -> float:
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        found.append(time.perf_counter() - begun)
    return min(found)


def _step(torch: Any, module: Any, quick: bool, ddp: bool, captured: bool) -> Callable[[], float]:
    """Make a training step, which gives its loss."""
    problem = module.problem(layers=1) if quick and module is gpt else module.problem()
    training = module.in_torch(torch, problem)
    net, optimizer = training.model, training.optimizer
    if ddp:
        net = torch.nn.parallel.DistributedDataParallel(net)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = torch.jit(step, warmup=0) if captured else step
    return lambda: run(training.x, training.y).item()


def _steps(torch: Any, dist: Any, name: str, quick: bool) -> Times:
    """Measure the least time of each way of a model's step, taken in turns."""
    ways = [w for w in WAYS if not w[2] or torch.__name__ == "torchlike"]
    steps = [_step(torch, MODELS[name], quick, ddp, captured) for _, ddp, captured in ways]
    for _ in range(3 if quick else 8):
        losses = [step() for step in steps]
        if max(losses) - min(losses) > 1e-4 * abs(losses[0]):
            raise AssertionError(f"{name}: the losses of {[w[0] for w in ways]} are {losses}")
    found: Times = {}
    for _ in range(1 if quick else 3):
        for (way, *_), step in zip(ways, steps, strict=True):
            dist.barrier()
            least = _least(step, 2 if quick else 15)
            found[f"{name} {way}"] = min(least, found.get(f"{name} {way}", least))
    return found


def rank(framework: str, quick: bool) -> None:
    """Do what one rank does; rank 0 prints the times as JSON."""
    if framework == "torchlike":
        import torchlike as torch
        import torchlike.distributed as dist
    else:
        import torch
        import torch.distributed as dist
    dist.init_process_group("gloo")
    found: Times = {}
    for name, n in SIZES.items():
        if quick and n > 1 << 12:
            continue
        x: Any = torch.ones(n)
        run = lambda x=x: dist.all_reduce(x)  # noqa: E731
        run()
        rounds = torch.tensor([3 if quick else int(_WARM_UP / _least(run, 3))])
        dist.broadcast(rounds, 0)  # all ranks as many
        for _ in range(int(rounds)):
            run()
        times = 3 if quick else 300 if n < 1 << 12 else 30 if n < 1 << 24 else 6
        found[f"all_reduce {name}"] = _least(run, times)
    for name in MODELS:
        found.update(_steps(torch, dist, name, quick))
    if dist.get_rank() == 0:
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


def _launched(framework: str, quick: bool) -> Times:
    own = [sys.executable, "-m", "torchlike", "launch"]
    theirs = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--standalone"]
    command = own if framework == "torchlike" else theirs
    ended = subprocess.run(
        [
            *command,
            "--nproc-per-node",
            "2",
            str(Path(__file__).resolve()),
            "--rank-of",
            framework,
            *(["--quick"] if quick else []),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise SystemExit(f"{framework}:\n{ended.stderr[-4000:]}")
    return json.loads(next(line for line in ended.stdout.splitlines() if line.startswith("{")))


def table(least: dict[str, Times]) -> str:
    """Return a table of the milliseconds of each framework, and what data parallelism and capturing
    make of a step.

    Captured steps stand beside PyTorch's eager ones.
    """
    own, theirs = least["torchlike"], least.get("torch", {})
    lines = [f"{'ms':<26}{'torchlike':>12}{'PyTorch':>12}{'ratio':>8}"]
    for name, t in own.items():
        other = theirs.get(name.replace(", captured", ""))
        beside = f"{other * 1e3:>12.3f}{t / other:>8.2f}" if other else f"{'-':>12}{'-':>8}"
        lines.append(f"{name:<26}{t * 1e3:>12.3f}{beside}")
    lines.append("")
    for model in MODELS:
        for title, above, below in (
            ("DDP over alone", "step, DDP", "step"),
            ("the same, captured", "step, DDP, captured", "step, captured"),
            ("DDP captured over eager", "step, DDP, captured", "step, DDP"),
        ):
            ratios = [
                f"{t[f'{model} {above}'] / t[f'{model} {below}']:>12.2f}"
                for t in (own, theirs)
                if f"{model} {above}" in t
            ]
            lines.append(f"{model} {title:<{25 - len(model)}}{''.join(ratios)}")
    return "\n".join(lines)


def main() -> None:
    """Run both frameworks in turn, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("torchlike",))
    parser.add_argument("--rank-of", choices=("torchlike", "torch"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.rank_of:
        rank(asked.rank_of, asked.quick)
        return
    rounds: dict[str, list[Times]] = (
        {"torchlike": []} if asked.only else {"torchlike": [], "torch": []}
    )
    for _ in range(1 if asked.quick else 3):
        for framework, found in rounds.items():
            found.append(_launched(framework, asked.quick))
    print(
        table({f: {k: min(r[k] for r in found) for k in found[0]} for f, found in rounds.items()})
    )


if __name__ == "__main__":
    main()
