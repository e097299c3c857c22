"""Small tensors made one by one, as the augmentation of a data set makes them, beside PyTorch.

    python -m benchmarks.small_tensors [--rounds 15]

Both libraries in one process, in turns; processor time of the calling thread, the best of the
rounds. PyTorch draws small tensors in 1 to 4 µs; the ratios are what is looked at.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

CALLS = 150


def cases(torch: Any) -> dict[str, Callable[[], Any]]:
    """Return the functions that are timed, by their source."""
    image, number = torch.zeros(8, 8), torch.ones(())
    return {
        "rand(1).item()": lambda: torch.rand(1).item(),
        "rand(3)": lambda: torch.rand(3),
        "randn_like(8×8)": lambda: torch.randn_like(image),
        "randn(8, 8)": lambda: torch.randn(8, 8),
        "randint(0, 10, (1,)).item()": lambda: torch.randint(0, 10, (1,)).item(),
        "randperm(8)": lambda: torch.randperm(8),
        "bernoulli(8×8)": lambda: torch.bernoulli(image),
        "uniform_(8×8)": lambda: image.uniform_(),
        "tensor([1., 2.])": lambda: torch.tensor([1.0, 2.0]),
        "zeros(3)": lambda: torch.zeros(3),
        "ones(3)": lambda: torch.ones(3),
        "arange(8)": lambda: torch.arange(8),
        "x.item()": lambda: number.item(),
    }


def seconds(function: Callable[[], Any]) -> float:
    """Measure the processor time of one call, without that of other threads and programs."""
    start = time.thread_time()
    for _ in range(CALLS):
        function()
    return (time.thread_time() - start) / CALLS


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args(argv).rounds
    import torch

    import torchlike

    torch.set_num_threads(1)
    theirs, ours = cases(torch), cases(torchlike)
    # NumPy serves the first normals, until compiling pays.
    for _ in range(1100 if rounds > 1 else 1):
        torchlike.randn(8, 8)
    for name, reference in theirs.items():
        best = [float("inf")] * 2
        for _ in range(rounds):
            for i, function in enumerate((reference, ours[name])):
                best[i] = min(best[i], seconds(function))
        print(
            f"{name:28} {best[0] * 1e6:7.2f} µs  {best[1] * 1e6:7.2f} µs  {best[1] / best[0]:5.1f}"
        )


if __name__ == "__main__":
    main()
