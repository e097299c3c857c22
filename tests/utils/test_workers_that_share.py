"""Datasets with locks and memory of ``multiprocessing``: processes see them, threads don't hang."""

import multiprocessing
import os
import random
import threading

import pytest

import torchlike as torch
from torchlike.utils.data import DataLoader, Dataset, waiting

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(waiting, "_PATIENCE", 0.02)


class Meeting(Dataset):
    """Four rows, of which each is loaded when another worker loads one, too."""

    def __init__(self, barrier, draw=lambda: None):
        self.barrier, self.draw = barrier, draw

    def __len__(self):
        return 4

    def __getitem__(self, i):
        self.barrier.wait(20)
        self.draw()
        return i, os.getpid()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_that_wait_for_each_other_are_processes(method):
    barrier = torch.multiprocessing.get_context(method).Barrier(2)
    batches = list(DataLoader(Meeting(barrier), batch_size=2, num_workers=2))
    assert [batch[0].tolist() for batch in batches] == [[0, 1], [2, 3]]
    assert os.getpid() not in {int(pid) for batch in batches for pid in batch[1]}


@pytest.mark.parametrize(
    "make", [multiprocessing.get_context("fork").Barrier, threading.Barrier], ids=["fork", "thread"]
)
def test_threads_that_wait_for_each_other_begin_together(make):
    loader = DataLoader(Meeting(make(2)), batch_size=2, num_workers=2)
    with pytest.warns(RuntimeWarning, match="workers are threads"):
        batches = list(loader)
    assert [batch[0].tolist() for batch in batches] == [[0, 1], [2, 3]]


def test_threads_that_wait_and_draw_from_what_the_process_has_one_of_are_refused():
    loader = DataLoader(Meeting(threading.Barrier(2), random.random), batch_size=2, num_workers=2)
    with (
        pytest.warns(RuntimeWarning, match="workers are threads"),
        pytest.raises(RuntimeError, match=r"make what they wait for by torch\.multiprocessing"),
    ):
        list(loader)


def test_who_computes_gets_no_help():
    asked = []
    with waiting.helped(lambda: asked.append(1)):
        sum(range(10_000))
    assert not asked
    event = threading.Event()
    with waiting.helped(event.set):
        event.wait()
    lock = threading.Lock()
    lock.acquire()
    with waiting.helped(lock.release):
        lock.acquire()
