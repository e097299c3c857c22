"""Examples a second of property tests with random shapes, from a cold cache.

    python benchmarks/property_tests.py [--examples 1000]

Each test runs in a process of its own with an empty cache folder: what it draws, its operations'
first calls (by NumPy) and hypothesis itself are counted; imports are not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

TESTS = ("addition", "softmax", "reduction", "indexing", "matmul with gradients")


def measure(name: str, examples: int) -> None:
    """Run one test and print its examples a second."""
    from hypothesis import given, settings
    from hypothesis import strategies as st

    import torchlike as torch
    from torchlike.testing import strategies as ts

    def addition(data):
        x = data.draw(ts.tensors(ts.dtypes()))
        assert (x + x).shape == x.shape

    def softmax(data):
        x = data.draw(ts.tensors(shape=ts.shapes([1, 2, 3], zero=False), special=False))
        torch.testing.assert_close(torch.softmax(x, -1).sum(-1), torch.ones(x.shape[:-1]))

    def reduction(data):
        x = data.draw(ts.tensors())
        assert x.amax().shape == () if x.numel() else x.sum().item() == 0

    def indexing(data):
        x = data.draw(ts.tensors(special=False))
        index = data.draw(ts.indices(x.shape))
        assert x[index].numel() <= 27 * max(1, x.numel())

    def product(data):
        n, k, m = data.draw(st.tuples(*[st.integers(1, 6)] * 3))
        x = data.draw(ts.tensors(shape=(n, k), special=False, requires_grad=True))
        y = (x @ torch.ones(k, m)).sum()
        (gradient,) = torch.autograd.grad(y, x)
        assert gradient.eq(m).all()

    run = dict(zip(TESTS, (addition, softmax, reduction, indexing, product), strict=True))[name]
    profile = settings(
        settings.get_profile("torchlike"), max_examples=examples, database=None, derandomize=True
    )
    count = 0

    @profile
    @given(st.data())
    def counted(data):
        nonlocal count
        count += 1
        run(data)

    wall, cpu = time.perf_counter(), time.process_time()
    counted()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name:24}{count:10}{count / wall:16.0f}{count / cpu:16.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--one", choices=TESTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one, options.examples)
        return
    print(f"{'test':24}{'examples':>10}{'a second':>16}{'a CPU second':>16}", flush=True)
    for name in TESTS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--one", name, "--examples", str(options.examples)]
            subprocess.run(command, check=True, env={**os.environ, "TORCHLIKE_CACHE_DIR": folder})


if __name__ == "__main__":
    main()
