"""benchmarks.on_device measures nets, each in a process of its own, here on the CPU."""

import argparse
import json
import math

import pytest

import torchlike
from benchmarks import frameworks, on_device


@pytest.mark.parametrize("net", ["mlp", "generation", "gnn"])
def test_a_net_is_measured(net, monkeypatch):
    monkeypatch.setenv("TORCHLIKE_ALLOCATOR", "system")
    found = on_device._measured(frameworks.parse("torchlike.jit"), net, "cpu", True)
    assert all(map(math.isfinite, found["losses"]))
    assert found["step"] > 0
    assert found["flops"]
    assert torchlike.get_default_device().type == "cpu"


@pytest.mark.full
@pytest.mark.parametrize("net", on_device.NETS)
def test_each_net_runs_in_a_process_of_its_own(net):
    assert "error" not in on_device._run(net, "torchlike.jit", "cpu", True, 120)


def test_a_run_that_was_broken_off_goes_on(tmp_path, monkeypatch):
    path = tmp_path / "lines.jsonl"
    asked = []

    def run(what, label, device, tiny, limit):
        asked.append(what)
        return {"error": "not done in 1 s"} if what == "pinn" else {"first": 1.0}

    monkeypatch.setattr(on_device, "_run", run)
    options = argparse.Namespace(
        nets=["mlp", "pinn"], frameworks=["torchlike.jit"], device="cpu", tiny=True
    )
    options.budget, options.limit, options.json = 60, 10, path
    on_device._run_all(options, {})
    assert asked == ["environment", "random numbers", "mlp", "pinn"]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]) + '{"what": "pi')
    found = on_device._read(path)
    assert [what for what, _ in found] == asked[:3]
    asked.clear()
    on_device._run_all(options, found)
    assert asked == ["pinn"]
    options.budget, options.json = 0, tmp_path / "other"
    on_device._run_all(options, {})
    assert not options.json.exists()


def test_what_hangs_or_fails_is_one_line(monkeypatch):
    assert on_device._run("mlp", "torchlike", "cpu", True, 0.01) == {"error": "not done in 0 s"}

    def measured(framework, net, device, tiny):
        raise RuntimeError(f"no {device}")

    monkeypatch.setattr(on_device, "_measured", measured)
    line = on_device._answer("mlp", "torchlike", "cuda", True)
    assert line == {"error": "RuntimeError: no cuda"}
    assert json.dumps(line)


def test_the_table_has_ratios():
    cells = {
        "torchlike.jit": {
            "first": 2.0,
            "step": 0.5,
            "losses": [1.0],
            "peak": 2e9,
            "share": 0.25,
            "programs": 3,
            "compiling": 1.0,
        },
        "torch": {"first": 1.0, "step": 1.0, "losses": [1.0], "peak": 3e9},
        "torch.compile": {"error": "none"},
    }
    table = on_device._table("a net", cells)
    assert list(table.columns[4].cells) == ["3", "", ""]
    assert list(table.columns[3].cells) == ["0.50", "1.00", ""]
    assert list(table.columns[7].cells) == ["25%", "", ""]
