"""The benchmarks are a folder of the repository, not part of the package that is installed."""

import sys
from pathlib import Path

import pytest

import torchlike

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


@pytest.fixture(autouse=True)
def warmup_of_the_process():
    """Put back what a benchmark sets in a process that it takes for its own: compiling at once."""
    yield
    torchlike.jit.set_warmup(None)
