"""What backward costs a node, against PyTorch: ``python -m benchmarks.autograd [--quick]``.

Each shape of graph is built once (outside the clock) and run backward with ``retain_graph`` or,
where that is not the same (hooks, second order), built anew in the clock. Tensors are small, so
that the time is the engine's. The second table says how the time grows with the number of nodes:
ten times the nodes should take ten times as long. Last come the gradients of each sample of a batch
of 64 through a CNN, ``vmap(grad(loss))``, with each library in a process of its own.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

#: A loop is repeated until it took this long...
SECONDS = {False: 1.0, True: 0.1}
#: ... in so many rounds, of which the median counts.
ROUNDS = {False: 7, True: 3}


def leaf(lib: Any, *shape: int) -> Any:
    return lib.ones(*shape, requires_grad=True)


def chain(lib: Any, n: int) -> tuple[Any, list[Any]]:
    """Build n products, one after another."""
    x = leaf(lib, 8)
    y, w = x, lib.full((8,), 1.0001)
    for _ in range(n):
        y = y * w
    return y.sum(), [x]


def fan_out(lib: Any, n: int) -> tuple[Any, list[Any]]:
    """Build n uses of one tensor, whose gradients are summed."""
    x = leaf(lib, 8)
    y = x * 2
    parts = [y * 1.5 for _ in range(n)]
    return lib.stack(parts).sum(), [x]


def fan_in(lib: Any, n: int) -> tuple[Any, list[Any]]:
    """Build one op of n leaves."""
    leaves = [leaf(lib, 8) for _ in range(n)]
    return lib.cat(leaves).sum(), leaves


def mlp(lib: Any, n: int) -> tuple[Any, list[Any]]:
    """Build n / 2 layers of width 32 at batch 16."""
    layers = [(lib.full((32, 32), 0.02, requires_grad=True), leaf(lib, 32)) for _ in range(n // 2)]
    x = lib.ones(16, 32)
    for w, b in layers:
        x = lib.relu(lib.addmm(b, x, w))
    return x.sum(), [t for layer in layers for t in layer]


GRAPHS: dict[str, tuple[Callable[..., Any], int]] = {
    "chain": (chain, 1000),
    "fan-out": (fan_out, 300),
    "fan-in": (fan_in, 300),
    "mlp": (mlp, 60),
}


def seconds_of(run: Callable[[], object], quick: bool) -> float:
    """Measure the seconds that a call takes: the median of rounds of many calls."""
    run()
    rounds = []
    for _ in range(ROUNDS[quick]):
        count, start = 0, time.perf_counter()
        while count == 0 or time.perf_counter() - start < SECONDS[quick] / ROUNDS[quick]:
            run()
            count += 1
        rounds.append((time.perf_counter() - start) / count)
    return median(rounds)


def backward_of(lib: Any, graph: Callable[..., Any], n: int) -> Callable[[], object]:
    out, leaves = graph(lib, n)

    def run() -> object:
        found = lib.autograd.grad(out, leaves, retain_graph=True)
        return found[0].tolist()  # waits for the result

    return run


def with_hooks(lib: Any, n: int) -> Callable[[], object]:
    """Return the backward of a chain with a hook on each tensor."""
    x = leaf(lib, 8)
    y, w = x, lib.full((8,), 1.0001)
    for _ in range(n):
        y = y * w
        y.register_hook(lambda g: g)
    out = y.sum()
    return lambda: lib.autograd.grad(out, x, retain_graph=True)[0].tolist()


def second_order(lib: Any, n: int) -> Callable[[], object]:
    """Return a function that computes the gradient of a chain's gradient, both passes in the
    clock."""
    x = leaf(lib, 8)
    y = x
    for _ in range(n):
        y = y * x
    out = y.sum()

    def run() -> object:
        (g,) = lib.autograd.grad(out, x, create_graph=True)
        return lib.autograd.grad(g.sum(), x, retain_graph=True)[0].tolist()

    return run


def cases(lib: Any) -> dict[str, tuple[Callable[[], object], int]]:
    """Return the functions that are timed, and how many nodes each has."""
    found = {name: (backward_of(lib, graph, n), n) for name, (graph, n) in GRAPHS.items()}
    found["hooks"] = with_hooks(lib, 300), 300
    found["second order"] = second_order(lib, 30), 30
    return found


def per_sample(library: str, quick: bool) -> float:
    """Measure the seconds for each sample's gradients: two convolutions, then 9216-128-10."""
    if library == "torchlike":
        from torchlike.porting.allocator import tune_allocator

        tune_allocator()
    torch: Any = importlib.import_module(library)
    nn, F, func = torch.nn, torch.nn.functional, torch.func
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(9216, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    parameters = {name: p.detach() for name, p in net.named_parameters()}
    images, labels = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))

    def loss(parameters: Any, image: Any, label: Any) -> Any:
        out = func.functional_call(net, parameters, (image[None],))
        return F.cross_entropy(out, label[None])

    gradients = func.vmap(func.grad(loss), in_dims=(None, 0, 0))

    def run() -> object:
        found = gradients(parameters, images, labels)
        return [g.flatten()[-1].item() for g in found.values()]

    return seconds_of(run, quick)


def _per_sample_in_a_process(library: str, quick: bool) -> float:
    command = [sys.executable, "-m", "benchmarks.autograd", "--per-sample", library]
    found = subprocess.run(
        command + ["--quick"] * quick, capture_output=True, text=True, check=True
    )
    return float(found.stdout.split()[-1])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="short rounds: numbers, not results")
    parser.add_argument("--per-sample", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    quick = options.quick
    if options.per_sample:
        print(per_sample(options.per_sample, quick))
        return
    reference, own = (_per_sample_in_a_process(lib, quick) for lib in ("torch", "torchlike"))
    import torch

    import torchlike

    torch.set_num_threads(1)
    print(f"{'':14}{'nodes':>6}{'torch µs/node':>15}{'torchlike':>11}{'ratio':>7}")
    theirs, ours = cases(torch), cases(torchlike)
    for name, (run, n) in ours.items():
        theirs_s, ours_s = seconds_of(theirs[name][0], quick) / n, seconds_of(run, quick) / n
        print(f"{name:14}{n:6}{theirs_s * 1e6:15.2f}{ours_s * 1e6:11.2f}{ours_s / theirs_s:7.1f}")
    print("\nbackward of a chain, milliseconds (ten times the nodes: × 10 is linear)")
    sizes = (100, 1000) if quick else (100, 1000, 10_000)
    for name, lib in (("torch", torch), ("torchlike", torchlike)):
        times = [seconds_of(backward_of(lib, chain, n), quick) for n in sizes]
        growth = ", ".join(f"× {b / a:.1f}" for a, b in itertools.pairwise(times))
        shown = "  ".join(f"{n}: {t * 1e3:.2f}" for n, t in zip(sizes, times, strict=True))
        print(f"{name:14}{shown}   ({growth})")
    print("\ngradients of each of 64 samples of a CNN, milliseconds")
    print(f"torch {reference * 1e3:.1f}  torchlike {own * 1e3:.1f}  ratio {own / reference:.2f}")


if __name__ == "__main__":
    main()
