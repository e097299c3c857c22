"""Whole scripts of torchlike, at once and deferred: processor time and peak memory.

    python -m benchmarks.deferred_scripts                    every script, three rounds
    python -m benchmarks.deferred_scripts --only mlp cells --rounds 1

Each run is a process of its own with empty caches, the two ways by turns. Seconds of processor time
of all threads, from after the import to the end, the least of the rounds; the peak is the largest
resident size. Scripts that end before compiling pays should take what they take at once; the long
ones less.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.pool import ROOT
from benchmarks.workloads import TRAINING
from benchmarks.workloads.growing import GROWING

WAYS = ("immediate", "deferred")


def training(name: str, steps: int) -> Callable[[Any], Any]:
    """Return a script that takes so many steps of a workload, and reads the loss of each."""

    def script(torch: Any) -> Any:
        made = TRAINING[name].in_torch(torch, TRAINING[name].problem())
        for _ in range(steps):
            made.optimizer.zero_grad()
            loss = made.loss(made.x, made.y)
            loss.backward()
            made.optimizer.step()
            last = loss.item()
        return last

    return script


def small_mlp(steps: int) -> Callable[[Any], Any]:
    """Return a script that trains a small perceptron on new data each step, and reads the loss of
    every tenth."""

    def script(torch: Any) -> Any:
        torch.manual_seed(0)
        nn = torch.nn
        model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
        head = nn.Linear(16, 1)
        parameters = [*model.parameters(), *head.parameters()]
        optimizer = torch.optim.AdamW(parameters, lr=1e-2)
        last = 0.0
        for step in range(steps):
            x = torch.randn(32, 8)
            loss = nn.functional.mse_loss(head(model(x)), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                last = loss.item()
        return last

    return script


def polynomial(torch: Any) -> Any:
    """Fit a polynomial by hand-written gradients, without a module."""
    x = torch.linspace(-3, 3, 200)
    y = x.sin()
    weights = [torch.zeros(()) for _ in range(4)]
    for step in range(300):
        fitted = sum(w * x**i for i, w in enumerate(weights))
        slope = 2 * (fitted - y)
        for i, w in enumerate(weights):
            w -= 1e-5 * (slope * x**i).sum()
        if step % 100 == 0:
            print((fitted - y).square().sum().item())
    return weights[0].item()


def reading(torch: Any) -> Any:
    """Read three thousand numbers one by one."""
    order = torch.randperm(3000)
    return sum(int(order[i]) for i in range(3000))


def cells(torch: Any) -> Any:
    """Run a recurrent cell over sequences of changing lengths, and train it."""
    torch.manual_seed(0)
    cell, head = torch.nn.GRUCell(8, 16), torch.nn.Linear(16, 2)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    for turn in range(40):
        state = torch.zeros(4, 16)
        for _ in range(5 + turn * 7 % 23):
            state = cell(torch.randn(4, 8), state)
        loss = torch.nn.functional.cross_entropy(head(state), torch.randint(2, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def evaluating(torch: Any) -> Any:
    """Run a network over batches without gradients, and count what is right."""
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 144, 10))
    right = 0
    with torch.no_grad():
        for _ in range(60):
            x, y = torch.randn(16, 1, 14, 14), torch.randint(10, (16,))
            right += (model(x).argmax(1) == y).sum().item()
    return right


#: Those that end before compiling pays, and those that go on.
SHORT: dict[str, Callable[[Any], Any]] = {
    "mlp": training("mlp", 60),
    "cnn": training("cnn", 20),
    "gpt": training("gpt", 6),
    "lstm": training("lstm", 20),
    "small mlp": small_mlp(100),
    "polynomial": polynomial,
    "reading": reading,
    "cells": cells,
    "evaluating": evaluating,
    **{name: (lambda torch, make=make: make(torch)()) for name, make in GROWING.items()},
}
LONG: dict[str, Callable[[Any], Any]] = {
    "mlp, long": training("mlp", 1500),
    "lstm, long": training("lstm", 300),
    "small mlp, long": small_mlp(3000),
}
SCRIPTS = SHORT | LONG


def worker(name: str) -> None:
    """Run a script in this process, and print what it took."""
    import torchlike as torch

    began = time.process_time()
    result = SCRIPTS[name](torch)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "MB": peak / 1024, "result": result}))


def run(name: str, way: str) -> dict[str, float]:
    """Run a script in a process of its own, and return what it printed."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.deferred_scripts", "--worker", name],
            cwd=ROOT,
            env=os.environ | {"TORCHLIKE_EAGER": way, "TORCHLIKE_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{name}, {way}, failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line a script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=[*SCRIPTS], nargs="*", default=[*SCRIPTS])
    parser.add_argument("--worker", choices=[*SCRIPTS], help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.worker:
        worker(options.worker)
        return
    for name in options.only:
        found = {way: [] for way in WAYS}
        for _ in range(options.rounds):
            for way, runs in found.items():
                runs.append(run(name, way))
        seconds = {way: min(r["seconds"] for r in runs) for way, runs in found.items()}
        peaks = {way: min(r["MB"] for r in runs) for way, runs in found.items()}
        print(
            f"{name}: {seconds['immediate']:.2f} s at once, {seconds['deferred']:.2f} deferred "
            f"({seconds['deferred'] / seconds['immediate']:.2f}), peak {peaks['immediate']:.0f} "
            f"and {peaks['deferred']:.0f} MB ({peaks['deferred'] / peaks['immediate']:.2f}), "
            f"results {found['immediate'][0]['result']:.6g} "
            f"and {found['deferred'][0]['result']:.6g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
