"""Peak memory of training, eager and with checkpoints: ``python -m benchmarks.memory``.

A 24-layer MLP (width 1024, batch 2048) and a GPT (8 layers, width 256, 16×256 tokens) take three
steps of SGD in a process of their own, in PyTorch and in torchlike, plain, with
``torch.utils.checkpoint`` around each layer, and (torchlike) as one jitted step. The peak is the
largest resident size less what the process held before the first step (libraries, weights, inputs).
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script: the package is found from the repository's root, not from this folder.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from rich.console import Console
from rich.table import Table

from benchmarks.workloads.models import block

STEPS = 3
VARIANTS = ("eager", "checkpoint", "jit", "jit checkpoint")


def mlp(torch: Any, checkpointed: bool, small: bool) -> tuple[Any, Any, Any]:
    """Make (module, input, loss of the module's output)."""
    nn, depth, width, batch = torch.nn, 24, 128 if small else 1024, 64 if small else 2048

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = _maybe(torch, checkpointed, lambda x, f=layer: torch.tanh(f(x)), x)
            return x

    return Net(), torch.randn(batch, width), lambda y: y.square().mean()


def gpt(torch: Any, checkpointed: bool, small: bool) -> tuple[Any, Any, Any]:
    """Make a decoder of pre-norm blocks over random tokens."""
    nn, F = torch.nn, torch.nn.functional
    depth, width, heads, vocabulary = 8, 64 if small else 256, 4, 512
    batch, length = (2, 32) if small else (16, 256)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, width)
            self.blocks = nn.ModuleList(block(torch, width, heads) for _ in range(depth))
            self.head = nn.Linear(width, vocabulary)

        def forward(self, tokens: Any) -> Any:
            x = self.embedding(tokens)
            for layer in self.blocks:
                x = _maybe(torch, checkpointed, layer, x)
            return self.head(x)

    tokens = torch.randint(0, vocabulary, (batch, length))
    return Net(), tokens, lambda y: F.cross_entropy(y.flatten(0, 1), tokens.flatten())


def _maybe(torch: Any, checkpointed: bool, f: Any, x: Any) -> Any:
    if not checkpointed:
        return f(x)
    return torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)


MODELS = {"mlp": mlp, "gpt": gpt}


def resident(field: str) -> float:
    """Return ``VmHWM`` (the peak) or ``VmRSS`` (now) in MB."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1000


def train(library: str, model: str, variant: str, small: bool) -> float:
    """Train, in a process of its own, and return the megabytes that it took at its peak."""
    torch: Any = importlib.import_module(library)
    importlib.import_module(f"{library}.utils.checkpoint")
    if library == "torchlike":
        torch.tune_allocator()  # as the launcher does
    torch.manual_seed(0)
    build: Callable[..., tuple[Any, Any, Any]] = MODELS[model]
    net, x, loss_of = build(torch, "checkpoint" in variant, small)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(net(x))
        loss.backward()
        optimizer.step()
        return loss

    if "jit" in variant:
        step = torch.jit(step, warmup=0)
    before = resident("VmRSS")
    for _ in range(STEPS):
        step().item()
    return resident("VmHWM") - before


def measure(library: str, model: str, variant: str, small: bool) -> float:
    command = [sys.executable, "-m", "benchmarks.memory", "--one", library, model, variant]
    found = subprocess.run(
        command + ["--small"] * small, capture_output=True, text=True, check=True
    )
    return float(found.stdout.split()[-1])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="does it run?")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        library, model, variant = options.one
        print(train(library, model, variant, options.small))
        return 0
    table = Table(title="peak memory of three training steps, MB", title_justify="left")
    for column in ("model", "step", "torch", "torchlike", "÷ torch"):
        table.add_column(column, justify="left" if column in ("model", "step") else "right")
    for model in MODELS:
        for variant in VARIANTS:
            ours = measure("torchlike", model, variant, options.small)
            if "jit" in variant:
                table.add_row(model, variant, "", f"{ours:.0f}", "")
                continue
            theirs = measure("torch", model, variant, options.small)
            table.add_row(model, variant, f"{theirs:.0f}", f"{ours:.0f}", f"{ours / theirs:.2f}")
    Console(width=80).print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
