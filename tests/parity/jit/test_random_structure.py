"""Random programs that make and change modules, hooks and optimizers inside compiled functions do
what PyTorch does."""

import logging

import pytest

import torchlike
from torchlike._core.errors import JitCaptureError

real = pytest.importorskip("torch")

from programs.structure import Structure, difference  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
WAYS = {"eager": lambda f: f, "jit": torchlike.jit, "compile": torchlike.compile}
#: A compiled call is one node, whose graph is freed as a whole; eagerly a sum frees nothing.
FREED = "Trying to backward through the graph a second time"
#: The programs of one test, so that a failure names its seed and a run can be told from another.
AT_A_TIME = 5


@pytest.fixture(autouse=True)
def _without_logs():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def check(first: int) -> None:
    """Compare the programs of a few seeds."""
    compared = 0
    for seed in range(first, first + AT_A_TIME):
        program = Structure(seed)
        try:
            expected = program.run(real, WAYS["eager"])
        except Exception:
            continue  # it is none in PyTorch either
        for way, compile in WAYS.items():
            try:
                found = program.run(torchlike, compile)
            except JitCaptureError:
                assert way == "jit", program
                continue
            except RuntimeError as error:
                if way == "eager" or FREED not in str(error):
                    raise
                continue
            compared += 1
            assert not difference(found, expected), (way, difference(found, expected), program)
    assert compared >= 2 * AT_A_TIME  # most of them compile


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("first", range(0, 30, AT_A_TIME))
def test_random_structure(first):
    check(first)


@pytest.mark.full
@pytest.mark.parametrize("first", range(30, 1000, AT_A_TIME))
def test_much_random_structure(first):
    check(first)
