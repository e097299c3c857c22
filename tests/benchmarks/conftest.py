"""The benchmarks are a folder of the repository, not part of the package that is installed."""

import sys
from pathlib import Path

import pytest

import torchlike
from torchlike._core import modes

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


@pytest.fixture(autouse=True)
def settings_of_the_process():
    """Put back what a benchmark sets in a process that it takes for its own: compiling at once, and
    eager calls operation by operation."""
    with torchlike.deferred(modes.current.queue is not None):
        yield
    torchlike.jit.set_warmup(None)
