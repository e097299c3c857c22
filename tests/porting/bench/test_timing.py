"""The clock: how many calls are made and waited for. Times themselves are never asserted."""

import gc

import pytest

from torchlike.porting.bench import timing


class Counted:
    """Count calls, by a clock of its own."""

    def __init__(self, monkeypatch, seconds, each=False):
        self.now = self.calls = self.finished = 0
        self.seconds, self.collected = seconds, []
        self.candidate = timing.Candidate(self.call, self.finish, each)
        monkeypatch.setattr(timing.time, "perf_counter", lambda: self.now)

    def call(self):
        self.calls += 1
        self.now += self.seconds
        self.collected.append(gc.isenabled())
        return self.calls

    def finish(self, result):
        assert result == self.calls
        self.finished += 1


@pytest.mark.parametrize(("each", "finished"), [(False, 1), (True, 5)])
def test_a_block_waits_for_its_end_or_for_each(monkeypatch, each, finished):
    counted = Counted(monkeypatch, 0.25, each)
    assert timing.block(counted.candidate, 5) == 0.25
    assert (counted.calls, counted.finished) == (5, finished)
    assert counted.collected == [False] * 5
    assert gc.isenabled()


def test_a_first_call_is_one_call(monkeypatch):
    counted = Counted(monkeypatch, 0.5)
    assert timing.first_call(counted.candidate) == (0.5, 1)
    assert counted.finished == 1


@pytest.mark.parametrize(("seconds", "calls"), [(1.0, 1), (2.0**-8, 6), (2.0**-16, 1311)])
def test_a_block_is_as_long_as_the_clock_needs(monkeypatch, seconds, calls):
    counted = Counted(monkeypatch, seconds)
    assert timing.calls_per_block(counted.candidate) == calls


def test_spread_and_ratio():
    assert timing.spread([1.0, 2.0, 3.0]) == 0.5
    assert timing.spread([0.0]) == 0.0
    # Both rows were slow in the second round: their ratio was what it is.
    assert timing.paired_ratio([2.0, 20.0, 2.0], [1.0, 10.0, 1.0]) == 2.0
