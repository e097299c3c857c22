"""What turns rounds into ratios and verdicts, and the clock that makes the rounds."""

import math

import pytest

from benchmarks import clock, quiet, stats, tables, targets
from benchmarks.session import Measurement


def test_typical_is_not_moved_by_one_bad_round():
    assert stats.typical([1.0, 1.1, 0.9, 1.0, 50.0]) == 1.0


def test_spread_is_relative_to_the_median():
    assert stats.spread([10.0, 11.0, 9.0]) == pytest.approx(0.1)
    assert stats.spread([5.0, 5.0]) == 0.0


def test_ratio_is_of_medians():
    assert stats.ratio([2.0, 4.0, 100.0], [1.0, 2.0, 3.0]) == 2.0


def test_disagreement_is_the_worst_relative_difference():
    assert stats.disagreement([1.0, 2.0], [1.0, 2.2]) == pytest.approx(0.2 / 2.2)
    assert stats.disagreement([0.0], [0.0]) == 0.0
    assert stats.disagreement([math.nan], [1.0]) == math.inf
    with pytest.raises(ValueError, match="longer"):
        stats.disagreement([1.0], [1.0, 2.0])


def test_targets_are_judged_by_their_limits():
    rounds = {
        ("op", "torchlike"): [8.0],
        ("op", "jnp"): [4.0],
        ("mlp", "torchlike"): [1.01],
        ("mlp", "torch"): [1.0],
        ("row_100mb", "torchlike"): [6.0],
        ("row_2mb", "torchlike"): [5.0],
    }
    verdicts = {v.target.cell: v for v in targets.judge(rounds)}
    assert verdicts["op", "torchlike"].met is True
    assert verdicts["mlp", "torchlike"].met is False
    assert verdicts["mlp", "torchlike"].ratio == pytest.approx(1.01)
    assert verdicts["row_100mb", "torchlike"].target.text == "≤ 3× row_2mb"
    assert verdicts["row_100mb", "torchlike"].met is True
    assert verdicts["gpt", "torchlike"].met is None


def test_every_target_names_cells_that_are_measured():
    from benchmarks import run

    measured = {
        (workload, framework.label)
        for workload in run.TITLES
        for framework in run.select_frameworks(workload, ())
    }
    for target in targets.TARGETS:
        assert target.cell in measured
        assert target.over in measured


class FakeClock:
    """A clock that only moves when it is told to."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def fake_time(monkeypatch):
    fake = FakeClock()
    monkeypatch.setattr(clock, "time", fake)
    return fake


def test_work_that_runs_on_after_the_step_is_counted(fake_time):
    def wait(result):
        fake_time.now += 2.0

    def finish():
        fake_time.now += 3.0

    runner = clock.Runner(step=lambda: None, wait=wait, finish=finish)
    assert clock.block(runner, 3) == pytest.approx((3 * 2.0 + 3.0) / 3)
    assert clock.timed_call(runner) == (5.0, None)


def test_waiting_once_a_block_waits_for_the_last_result(fake_time):
    waited = []
    numbers = iter(range(100))
    runner = clock.Runner(step=lambda: next(numbers), wait=waited.append, wait_each=False)
    clock.block(runner, 4)
    clock.block(runner, 2)
    assert waited == [3, 5]


@pytest.mark.parametrize(("per_step", "least", "most"), [(1e-5, 1000, 1001), (1.0, 3, 3)])
def test_a_block_is_long_enough_for_the_clock(fake_time, per_step, least, most):
    def step():
        fake_time.now += per_step

    runner = clock.Runner(step=step, wait=lambda result: None)
    assert least <= clock.steps_per_block(runner, 0.01) <= most


def test_a_round_gives_its_best_block(fake_time):
    durations = iter([5.0, 1.0, 3.0, 2.0, 7.0] + [9.0] * 100)

    def step():
        fake_time.now += next(durations)

    runner = clock.Runner(step=step, wait=lambda result: None)
    assert clock.best_of_round(runner, steps=1, seconds=10.5) == (1.0, 4)


def test_a_round_has_a_least_number_of_blocks(fake_time):
    def step():
        fake_time.now += 60.0

    runner = clock.Runner(step=step, wait=lambda result: None)
    assert clock.best_of_round(runner, steps=1, seconds=1.0) == (60.0, clock.MIN_BLOCKS)


def test_value_is_read_from_the_result(fake_time):
    runner = clock.Runner(step=lambda: 2.5, wait=lambda result: None, value=lambda result: result)
    assert clock.timed_call(runner) == (0.0, 2.5)


def test_busy_share_of_two_readings():
    before = [100, 0, 50, 800, 50, 0, 0, 0, 0, 0]
    after = [150, 0, 75, 900, 75, 0, 0, 0, 50, 0]
    assert quiet.busy_between(before, after) == pytest.approx(75 / 200)
    assert quiet.busy_between(before, before) == 0.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.6e-6, "3.60 µs"), (0.000_46, "460 µs"), (0.0187, "18.7 ms"), (12.0, "12.0 s"), (None, "")],
)
def test_duration_has_three_digits(seconds, text):
    assert tables.duration(seconds) == text


def rendered(table):
    from rich.console import Console

    console = Console(width=140, no_color=True)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def measurement(framework, rounds, **fields):
    return Measurement("mlp", framework, rounds=rounds, first_s=1.0, losses=[2.0, 1.0], **fields)


def test_table_shows_ratios_targets_losses_and_failures():
    cells = [
        measurement("torchlike", [0.002], peak_mb=300.0),
        measurement("torch", [0.001]),
        measurement("jax", [0.0005]),
        Measurement("mlp", "torchlike.jit", error="NotImplementedError: later"),
    ]
    text = rendered(tables.group_table("training steps", {"mlp": "An MLP"}, cells, True))
    torchlike = next(line for line in text.splitlines() if "torchlike " in line)
    assert "2.00 ms" in torchlike
    assert "4.00" in torchlike
    assert "≤ 1× torch: 2.00" in torchlike
    assert "300" in torchlike
    assert "failed: NotImplementedError: later" in text
    assert "mlp: An MLP" in text


def test_warnings_name_what_spoilt_the_numbers():
    quiet_cell = measurement("torch", [1.0, 1.0, 1.0], busy=[0.01, 0.02])
    assert tables.warnings([quiet_cell]) == []
    noisy = measurement("torch", [1.0, 2.0, 4.0], busy=[0.6, 0.9], idle_cpu_s=0.5)
    found = tables.warnings([noisy])
    assert len(found) == 3
    assert "75% busy" in found[0]
    assert "while idle" in found[1]
    assert "rounds differ" in found[2]
