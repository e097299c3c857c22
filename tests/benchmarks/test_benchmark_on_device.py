"""benchmarks.on_device measures a step, here on the CPU."""

import math

import pytest

import torchlike
from benchmarks import frameworks, on_device


@pytest.mark.parametrize("label", ["torchlike.jit", "jax"])
def test_a_step_is_measured(label, monkeypatch):
    monkeypatch.setattr(on_device, "BLOCK_SECONDS", 0.01)
    framework = frameworks.parse(label)
    library = pytest.importorskip(framework.library)
    if label == "jax":
        monkeypatch.setattr(library.config, "update", lambda name, value: None)
    found = on_device._measured(framework, library, "mlp", "cpu")
    assert len(found["losses"]) == on_device.STEPS
    assert all(map(math.isfinite, found["losses"]))
    assert found["step"] > 0
    assert torchlike.get_default_device().type == "cpu"


def test_the_table_has_ratios():
    cells = {
        "torchlike.jit": {"first": 2.0, "step": 0.5, "losses": [1.0], "peak": 2e9},
        "torch": {"first": 1.0, "step": 1.0, "losses": [1.0], "peak": 3e9},
        "jax": {"error": "none"},
    }
    table = on_device._table("a net", cells)
    assert list(table.columns[3].cells) == ["0.50", "1.00", ""]
