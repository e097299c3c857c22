"""What ``torch.profiler.schedule`` says of each step, against PyTorch."""

import pytest

import torchlike

torch = pytest.importorskip("torch")


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_profiler_schedules():
    for options in (
        {"wait": 1, "warmup": 1, "active": 2}, {"wait": 0, "warmup": 0, "active": 1, "repeat": 2},
        {"wait": 2, "warmup": 1, "active": 3, "repeat": 1, "skip_first": 4},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first": 2, "skip_first_wait": 1},
    ):  # fmt: skip
        mine, theirs = (t.profiler.schedule(**options) for t in (torchlike, torch))
        assert [mine(i).name for i in range(30)] == [theirs(i).name for i in range(30)]
