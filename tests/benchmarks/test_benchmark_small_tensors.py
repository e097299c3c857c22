"""The benchmark of small tensors runs, and its cases give the same kinds of things."""

from __future__ import annotations

import pytest

import torchlike

torch = pytest.importorskip("torch")

from benchmarks import small_tensors  # noqa: E402


@pytest.mark.parametrize("name", small_tensors.cases(torchlike))
def test_cases_are_those_of_pytorch(name):
    made = []
    for library in (torch, torchlike):
        library.manual_seed(0)
        found = small_tensors.cases(library)[name]()
        made.append(found.tolist() if hasattr(found, "tolist") else found)
    assert made[0] == made[1]


def test_a_line_a_case(capsys, monkeypatch):
    monkeypatch.setattr(small_tensors, "CALLS", 2)
    small_tensors.main(["--rounds", "1"])
    assert len(capsys.readouterr().out.splitlines()) == len(small_tensors.cases(torchlike))
