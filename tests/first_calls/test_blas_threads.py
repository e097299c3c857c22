"""NumPy's threads leave the processor to XLA after a product of a first call."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import threadpoolctl

from torchlike._runtime import blas_threads
from torchlike._runtime.first_calls.rules.products import matmul


def told_by(source: str, **environment: str) -> str:
    kept = {k: v for k, v in os.environ.items() if k != "OPENBLAS_THREAD_TIMEOUT"}
    child = subprocess.run(
        [sys.executable, "-c", source], env=kept | environment, text=True, capture_output=True
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


@pytest.mark.exhaustive
def test_threads_sleep_at_once_where_numpy_comes_later() -> None:
    says = "import os, torchlike; print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    assert told_by(says) == "4"
    assert told_by(says, OPENBLAS_THREAD_TIMEOUT="20") == "20"


@pytest.mark.exhaustive
def test_what_numpy_read_already_is_left_alone() -> None:
    source = (
        "import numpy, os, torchlike\n"
        "from torchlike._runtime import blas_threads\n"
        "print('OPENBLAS_THREAD_TIMEOUT' in os.environ, blas_threads._spin)"
    )
    assert told_by(source) == "False True"


def threads() -> list[int]:
    return [library["num_threads"] for library in threadpoolctl.threadpool_info()]


def test_a_product_runs_in_one_thread_where_threads_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        seen.append([library.get_num_threads() for library in blas_threads._libraries])
        return np.matmul(x, y)

    monkeypatch.setattr(blas_threads, "_spin", True)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        x = np.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(blas_threads.product(multiply, x, x.T), x @ x.T)
        assert threads() == before
    assert seen
    assert set(seen[0]) == {1}


def test_the_number_of_threads_comes_back_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas_threads, "_spin", True)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        with pytest.raises(ValueError, match="matmul"):
            matmul(np.ones((2, 3)), np.ones((2, 3)))
        assert threads() == before
