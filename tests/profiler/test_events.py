"""What a profile says ran: events, their nesting, and the table of their averages."""

import gzip
import json

import pytest

import torchlike as torch
from torchlike.profiler import profile, record_function
from torchlike.profiler.events import EventList, FunctionEvent, nest


def made():
    """Two threads; on the first one an event with two inside, one of which has one."""
    return nest(
        [
            FunctionEvent("b", 10, 30, 0),
            FunctionEvent("a", 0, 100, 0),
            FunctionEvent("b", 40, 90, 0),
            FunctionEvent("c", 50, 60, 0),
            FunctionEvent("a", 20, 2500, 1),
            FunctionEvent("kernel", 0, 7, 2, is_on_device=True),
        ]
    )


def test_self_times_leave_out_what_runs_inside():
    events = made()
    assert [e.name for e in events] == ["a", "kernel", "b", "a", "b", "c"]
    assert [e.self_cpu_time_total for e in events] == [30, 0, 20, 2480, 40, 10]
    assert [e.cpu_parent and e.cpu_parent.name for e in events] == [
        None,
        None,
        "a",
        None,
        "a",
        "b",
    ]


def test_averages():
    found = {e.key: e for e in EventList(made()).key_averages()}
    assert {k: e.count for k, e in found.items()} == {"a": 2, "b": 2, "c": 1, "kernel": 1}
    a = found["a"]
    assert (a.cpu_time_total, a.self_cpu_time_total, a.cpu_time) == (2580, 2510, 1290)
    assert (found["kernel"].cuda_time_total, found["kernel"].cpu_time_total) == (7, 0)
    assert (a.input_shapes, a.flops, a.cpu_memory_usage) == ([], 0, 0)
    total = EventList(made()).total_average()
    assert (total.count, total.self_cpu_time_total, total.device_time) == (6, 2580, 7 / 6)


def lines(text):
    rows = [line.split() for line in text.splitlines() if not line.startswith(("-", "="))]
    return [row[0] for row in rows[1:-2]], rows


def test_the_table():
    averages = EventList(made()).key_averages()
    names, rows = lines(averages.table(sort_by="self_cpu_time_total", row_limit=-1))
    assert names == ["a", "b", "c", "kernel"]
    assert rows[1][1:6] == ["97.29%", "2.510ms", "100.00%", "2.580ms", "1.290ms"]
    assert lines(averages.table(sort_by="count", row_limit=1))[0] == ["a"]
    assert lines(averages.table(sort_by="self_cuda_time_total", row_limit=1))[0] == ["kernel"]
    assert "2510.000us" in averages.table(time_unit="us")
    top = EventList(made()).table(top_level_events_only=True, header="of it")
    assert lines(top)[1][0] == ["of", "it"]
    assert "..." in EventList([FunctionEvent("x" * 80, 0, 1, 0)]).table()
    assert EventList().table() == ""
    with pytest.raises(AttributeError, match="speed"):
        averages.table(sort_by="speed")
    with pytest.raises(RuntimeError, match="no profile"):
        averages.export_chrome_trace("trace.json")


def test_a_profile_has_regions_and_programs(tmp_path):
    x = torch.ones(256, 256)
    step = torch.jit(lambda x: (x @ x).sum())
    step(x)
    with profile() as prof:
        for _ in range(3):
            with record_function("outer"), record_function("inner"):
                step(x).item()
    averages = prof.key_averages()
    found = {e.key: e for e in averages}
    assert (found["outer"].count, found["inner"].count) == (3, 3)
    assert found["inner"].is_user_annotation
    assert found["outer"].cpu_time_total >= found["inner"].cpu_time_total > 0
    inside = [e for e in prof.events() if e.cpu_parent is not None and e.cpu_parent.key == "inner"]
    assert len(inside) >= 3
    assert not any(e.key.startswith("$") for e in averages)
    assert "inner" in averages.table(sort_by="self_cpu_time_total", row_limit=-1)
    prof.events().export_chrome_trace(str(tmp_path / "trace.json.gz"))
    with gzip.open(tmp_path / "trace.json.gz") as file:
        assert json.load(file)


def test_without_a_recording():
    with pytest.raises(RuntimeError, match="no finished recording"):
        profile().key_averages()
