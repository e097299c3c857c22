"""Workers of a DataLoader: the numbers, order and copies that PyTorch's processes have."""

import json
import subprocess
import sys

import loader_cases
import pytest

import torchlike
from torchlike.utils.data import DataLoader, Dataset, get_worker_info

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def answers():
    command = [sys.executable, loader_cases.__file__]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", loader_cases.CASES)
def test_passes(name, answers):
    assert loader_cases.CASES[name](torchlike) == answers[name]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", [n for n in loader_cases.CASES if n.startswith(("draw", "iter"))])
def test_passes_by_threads(name, answers, monkeypatch):
    monkeypatch.setitem(loader_cases.MORE, "multiprocessing_context", "thread")
    assert loader_cases.CASES[name](torchlike) == answers[name]


class Failing(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        if i == 5:
            raise ValueError("row 5")
        return i


def test_after_a_batch_that_fails_the_next_ones_come():
    batches = iter(DataLoader(Failing(), batch_size=2, num_workers=2))
    assert [next(batches).tolist(), next(batches).tolist()] == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="row 5"):
        next(batches)
    assert get_worker_info() is None
    assert [b.tolist() for b in batches] == [[i, i + 1] for i in range(6, 40, 2)]


def test_a_dataset_that_passes_on_what_it_has_not():
    class Wrapped(Dataset):
        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def __len__(self):
            return len(self.inner)

        def __getitem__(self, i):
            return self.inner[i]

    loader = DataLoader(Wrapped([3, 4]), num_workers=2)
    assert [batch.item() for batch in loader] == [3, 4]


@pytest.mark.parametrize(("context", "workers"), [("fork", 0), ("nothing", 1)])
def test_contexts_that_are_refused(context, workers):
    with pytest.raises(ValueError, match="multiprocessing_context"):
        DataLoader([1], num_workers=workers, multiprocessing_context=context)


def test_more_workers_than_processors_are_told():
    said = []
    for loader in (DataLoader, torch.utils.data.DataLoader):
        with pytest.warns(UserWarning, match="will create 3000 worker") as caught:
            loader([1], num_workers=3000)
        said.append(str(caught[0].message))
    assert said[0] == said[1]
