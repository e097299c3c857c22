"""A body that changes modules, hooks or optimizers does so at each call, compiled too."""

import logging

import oracle
import pytest

import torchlike
import torchlike.nn.utils.prune
from torchlike._core.errors import JitCaptureError

real = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")

from structure_cases import CASES, REFUSED  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
WAYS = {"eager": lambda f: f, "jit": torchlike.jit, "compile": torchlike.compile}


@pytest.fixture(autouse=True)
def _without_logs():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.sampled(every=6, of=lambda p: p["way"] != "eager")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", WAYS)
def test_as_in_pytorch(name, way):
    program = CASES[name]
    theirs = program(real, lambda f: f)
    if way == "jit" and name in REFUSED:
        with pytest.raises(JitCaptureError, match=REFUSED[name]):
            program(torchlike, WAYS[way])
    else:
        ours = program(torchlike, WAYS[way])
        oracle.same(ours, theirs, rtol=1e-5, atol=1e-5)
