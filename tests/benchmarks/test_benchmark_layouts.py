"""The benchmark of sparse products and ragged attention runs, and all contestants agree."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from benchmarks import layouts  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sparse (CSR|invariant)", "ignore:.*prototype")


def rows(capsys, monkeypatch, *cases):
    monkeypatch.setattr(layouts, "REST", 0)
    monkeypatch.setenv("TORCHLIKE_ALLOCATOR", "system")  # other tests run in this process, too
    layouts.main(["--quick", "--rounds", "1", "--seconds", "0.001", *cases])
    return capsys.readouterr().out.splitlines()


def test_a_row_a_contestant(capsys, monkeypatch):
    name, *found = rows(capsys, monkeypatch, "csr @ vector, forward")
    assert name == "csr @ vector, forward"
    assert [row.split()[0] for row in found] == ["scipy", "torch", "torchlike", "torchlike.jit"]
    assert all(row.endswith("× scipy") for row in found)


@pytest.mark.full
@pytest.mark.parametrize("case", ["csr", "coo", "jagged attention"])
def test_all_cases(capsys, monkeypatch, case):
    """Their results are compared as they begin."""
    found = rows(capsys, monkeypatch, case)
    assert sum("torchlike" in row for row in found) == 12 if case != "jagged attention" else 10
    assert not any("refuses" in row for row in found if "torchlike" in row)
