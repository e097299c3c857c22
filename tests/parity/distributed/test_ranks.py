"""The stored values of tests/distributed are PyTorch's; four ranks give what PyTorch's do."""

import json

import pytest

from tests.distributed.launching import results
from tests.distributed.test_cases import GOLDEN, RANKS, close

pytest.importorskip("torch")


#: They change with PyTorch's release alone: a long run starts PyTorch's ranks for one file.
QUICK = "collective_cases.py"


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(f, marks=pytest.mark.exhaustive if f == QUICK else pytest.mark.full)
        for f in GOLDEN
    ],
)
def test_stored_values_are_pytorchs(file, tmp_path):
    found = results(file, tmp_path, RANKS[file], torchrun=True)
    for stored, theirs in zip(GOLDEN[file], found, strict=True):
        assert stored.keys() == theirs.keys()
        different = {n for n in stored if not close(stored[n], json.loads(json.dumps(theirs[n])))}
        assert different == set()


@pytest.mark.full
@pytest.mark.parametrize("file", GOLDEN)
def test_four_ranks(file, tmp_path):
    own = results(file, tmp_path, 4)
    theirs = results(file, tmp_path, 4, torchrun=True)
    for mine, other in zip(own, theirs, strict=True):
        different = {n for n in other if not close(mine[n], other[n])}
        assert different <= {"case_fp16_hook"}  # four numbers summed in float16, in another order
