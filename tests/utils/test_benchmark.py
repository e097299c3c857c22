"""torch.utils.benchmark: a statement's time has the work in it that the statement asked for."""

import pytest

import torchlike as torch
from torchlike.utils.benchmark import Compare, Measurement, TaskSpec, Timer


def test_work_is_done_when_the_clock_is_read():
    a = torch.rand(1500, 1500)
    ready, results = [], []

    def products():
        ready.append(all(r.jax().is_ready() for r in results))
        results.append(a @ a @ a)

    timer = Timer("products()", globals={"products": products})
    timer.timeit(1)
    # Two to warm up, and the one that is timed.
    assert len(results) == 3
    assert ready[2]
    assert results[2].jax().is_ready()
    assert "products" in str(Compare([timer.timeit(1)]))


class Clock:
    """Seconds that statements make go by."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        self.seconds += 1e-6
        return self.seconds


def test_compilation_is_not_timed():
    clock, calls = Clock(), []

    def statement():
        calls.append(1)
        clock.seconds += 1.0 if len(calls) <= 2 else 1e-5

    timer = Timer("statement()", timer=clock, globals={"statement": statement})
    found = timer.blocked_autorange(min_run_time=0.1)
    assert found.number_per_run == 100
    assert abs(found.median - 1e-5) < 1e-7


def test_blocks_are_long_beside_the_clock():
    clock = Clock()

    def statement():
        clock.seconds += 1e-4

    timer = Timer("statement()", timer=clock, globals={"statement": statement})
    assert timer.blocked_autorange(min_run_time=0.1).number_per_run == 10

    class Slow(Clock):
        def __call__(self):
            self.seconds += 1e-4  # as where thousands of arrays are looked through
            return super().__call__()

    clock = Slow()
    timer = Timer("statement()", timer=clock, globals={"statement": statement})
    assert timer.blocked_autorange(min_run_time=0.1).number_per_run == 1000


def test_what_is_timed_is_compiled():
    def calls_by_numpy():
        return {row.name: row.calls for row in torch.compiler.report().rows}.get("TanBackward0", 0)

    x, before = torch.ones(3, 1, 5, 2), calls_by_numpy()
    Timer("x.tan()", globals={"x": x}).timeit(3)
    x.tan()
    assert calls_by_numpy() == before
    x[:2].clone().tan()  # another shape, and not timed
    assert calls_by_numpy() == before + 1


def test_tables_of_measurements():
    def made(sub, description, seconds):
        task = TaskSpec("x", "pass", label="add", sub_label=sub, description=description)
        return Measurement(1, [seconds] * 3, task)

    table = Compare([made("64", "eager", 1e-5), made("64", "jit", 5e-6), made("128", "jit", 7e-6)])
    lines = str(table).splitlines()
    assert " add " in lines[0]
    assert "eager" in lines[1]
    assert "jit" in lines[1]
    row = [cell.strip() for cell in lines[3].split("|")]
    assert row == ["64", "10.0", "5.0"]
    assert "microseconds (us)" in str(table)
    with pytest.raises(ValueError, match="Measurement"):
        table.extend_results([3])
