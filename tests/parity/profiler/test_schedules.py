"""What ``torch.profiler.schedule`` says of each step, against PyTorch."""

import pytest

import torchlike

torch = pytest.importorskip("torch")


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_profiler_schedules():
    for options in (
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 0, "warmup": 0, "active": 1, "repeat": 2},
        {"wait": 2, "warmup": 1, "active": 3, "repeat": 1, "skip_first": 4},
        {"wait": 2, "warmup": 1, "active": 1, "skip_first": 2, "skip_first_wait": 1},
    ):
        mine, theirs = (t.profiler.schedule(**options) for t in (torchlike, torch))
        assert [mine(i).name for i in range(30)] == [theirs(i).name for i in range(30)]


@pytest.mark.full
def test_the_table_of_averages_has_pytorchs_columns():
    """And what is read of a row has PyTorch's names."""
    found = []
    for t in (torchlike, torch):
        with t.profiler.profile(activities=[t.profiler.ProfilerActivity.CPU]) as prof:
            for _ in range(2):
                with t.profiler.record_function("a region"):
                    t.ones(3).add(1).sum().item()
        averages = prof.key_averages()
        table = averages.table(sort_by="self_cpu_time_total", row_limit=2, header="above")
        lines = table.splitlines()
        (row,) = [e for e in averages if e.key == "a region"]
        values = [
            row.count,
            row.cpu_time * 2 == row.cpu_time_total,
            row.self_cpu_time_total > 0,
            row.device_time_total,
            row.flops,
            row.cpu_memory_usage,
            row.is_async,
        ]
        found.append([lines[1], lines[3].split(), lines[-1].split(":")[0], len(lines), values])
        assert sum(e.self_cpu_time_total for e in averages) == pytest.approx(
            averages.self_cpu_time_total
        )
    assert found[0] == found[1]
