"""DataLoader's workers, beside PyTorch's.

    python benchmarks/data.py                       all subjects, three rounds
    python benchmarks/data.py --only images batch   some of them
    python benchmarks/data.py --rounds 5 --json out.json

Each subject runs in a new process of each framework in turn. Reported is the median over the
rounds, and torchlike's time by PyTorch's:

- ``python``: samples made by Python code, without workers and with two (seconds a pass);
- ``images``: 10,000 images of 3x64x64 bytes, cropped, mirrored and normalised by NumPy, two
  workers (seconds a pass), and ``image tensors`` the same by operations on tensors;
- ``first``: from the call of ``iter`` to the first batch of two workers; ``first, computed`` where
  the process has computed since it made the loader, ``first, late`` where it made the loader after
  that; ``first, whole`` from the start of the process to its end;
- ``batch``: a batch of 100 MB from one worker (seconds a batch).
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

if not __package__:
    # Run as a script: the package is found from the repository's root, not from this folder.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

FRAMEWORKS = ("torch", "torchlike")


class Python:
    """Samples that keep the interpreter busy for some ms each."""

    def __len__(self) -> int:
        return 400

    def __getitem__(self, i: int) -> float:
        total = 0.0
        for k in range(40_000):
            total += (i * k) % 7
        return total


class Images:
    """Images in memory, augmented one by one."""

    def __init__(self) -> None:
        self.images = np.random.default_rng(0).integers(0, 256, (10_000, 64, 64, 3), np.uint8)
        self.mean = np.array([0.48, 0.46, 0.41], np.float32)
        self.deviation = np.array([0.23, 0.22, 0.23], np.float32)

    def __len__(self) -> int:
        return len(self.images)

    def cropped(self, i: int) -> Any:
        top, left = random.randrange(8), random.randrange(8)
        found = self.images[i][top : top + 56, left : left + 56]
        return found[:, ::-1] if random.random() < 0.5 else found

    def __getitem__(self, i: int) -> Any:
        image = self.cropped(i).astype(np.float32)
        image *= 1 / 255
        image -= self.mean
        image /= self.deviation
        return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))), i % 10


class ImageTensors(Images):
    """The same by operations on tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.means = torch.tensor(self.mean).view(3, 1, 1)
        self.deviations = torch.tensor(self.deviation).view(3, 1, 1)

    def __getitem__(self, i: int) -> Any:
        image = torch.from_numpy(np.ascontiguousarray(self.cropped(i)))
        image = image.permute(2, 0, 1).float().div(255)
        return image.sub(self.means).div(self.deviations), i % 10


class Large:
    """Samples of 10 MB, made beforehand."""

    def __init__(self) -> None:
        self.sample = torch.from_numpy(np.ones(2_500_000, np.float32))

    def __len__(self) -> int:
        return 200

    def __getitem__(self, i: int) -> Any:
        return self.sample


def a_pass(dataset: Any, **options: Any) -> float:
    """Measure a second pass, whose workers are there, in seconds."""
    options["persistent_workers"] = options["num_workers"] > 0
    loader = torch.utils.data.DataLoader(dataset, **options)
    for _ in loader:
        break
    for _ in loader if options["num_workers"] else ():
        pass
    begin = time.perf_counter()
    for _ in loader:
        pass
    return time.perf_counter() - begin


def compute() -> None:
    """Compute as where a model is made, and its first step compiled."""
    x = torch.rand(256, 256)
    for n in range(40):
        (x[:, : 64 + n] @ x[: 64 + n]).tanh().sum().item()


def first_batch(*, before: bool = False, after: bool = False) -> float:
    """Measure the first batch. ``before``, ``after``: whether the process computes before, after it
    makes the loader."""
    if before:
        compute()
    loader = torch.utils.data.DataLoader(range(64), batch_size=4, num_workers=2)
    if after:
        compute()
    begin = time.perf_counter()
    next(iter(loader))
    return time.perf_counter() - begin


SUBJECTS = {
    "python, 0 workers": lambda: a_pass(Python(), batch_size=10, num_workers=0),
    "python, 2 workers": lambda: a_pass(Python(), batch_size=10, num_workers=2),
    "images": lambda: a_pass(Images(), batch_size=64, num_workers=2, shuffle=True),
    "image tensors": lambda: a_pass(ImageTensors(), batch_size=64, num_workers=2, shuffle=True),
    "first": first_batch,
    "first, computed": lambda: first_batch(after=True),
    "first, late": lambda: first_batch(before=True),
    "first, whole": first_batch,
    "batch": lambda: a_pass(Large(), batch_size=10, num_workers=1) / 20,
}

torch: Any


def _measure(framework: str, subject: str) -> None:
    """Print the seconds of a subject, in a process of its own."""
    global torch
    torch = importlib.import_module(framework)
    print(json.dumps(SUBJECTS[subject]()))


def _seconds(framework: str, subject: str) -> float:
    begin = time.perf_counter()
    command = [sys.executable, __file__, "--measure", framework, subject]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    if subject == "first, whole":
        return time.perf_counter() - begin
    return float(done.stdout)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="DataLoader's workers, beside PyTorch's.")
    parser.add_argument("--only", nargs="*", help="beginnings of subjects")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where to write the seconds")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        _measure(*options.measure)
        return
    chosen = [s for s in SUBJECTS if not options.only or s.startswith(tuple(options.only))]
    found: dict[str, dict[str, list[float]]] = {s: {f: [] for f in FRAMEWORKS} for s in chosen}
    for _ in range(options.rounds):
        for subject in chosen:
            for framework in FRAMEWORKS:
                found[subject][framework].append(_seconds(framework, subject))
    print(f"{'':20}" + "".join(f"{f:>12}" for f in FRAMEWORKS) + f"{'ratio':>8}")
    for subject, times in found.items():
        middle = [median(times[f]) for f in FRAMEWORKS]
        numbers = "".join(f"{m:12.4f}" for m in middle)
        print(f"{subject:20}{numbers}{middle[1] / middle[0]:8.2f}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
