"""``torchlike demo``, from the command line to the picture."""

import json

import pytest

from tests.porting.commands import torchlike_command
from torchlike.porting import demo


@pytest.mark.exhaustive
def test_demo(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    result = torchlike_command("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    runs = json.loads((tmp_path / "compare-digits.json").read_text())["runs"]
    assert [run["label"] for run in runs] == [
        "eager",
        "as it is, deferred",
        "whole step compiled",
    ]
    for run in runs[1:]:
        assert run["losses_agree"]["all"] <= 1e-4
        assert run["fell_back"] == {}
    for run in runs:
        assert len(run["losses"]) == len(run["steps"]) + 1
        assert float(run["last_line"].split()[-1].rstrip("%")) >= 97
    assert (tmp_path / "compare-digits.png").is_file()
    assert result.stdout.rstrip().endswith("compare-digits.png")
    lines = result.stdout.splitlines()
    assert len(lines) <= 60
    assert sum(line.startswith("epoch ") for line in lines) == 24
    assert not any(line.startswith("step ") for line in lines)


def test_demo_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(demo, "_NEEDS", ("json", "no_such_package_at_all"))
    assert demo.demo() == 1
    assert capsys.readouterr().err == (
        "torchlike demo needs no_such_package_at_all: pip install 'torchlike[demo]'\n"
    )


def test_demo_without_its_script_says_where_it_looked(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "_PLACES", (tmp_path / "a.py", tmp_path / "b.py"))
    with pytest.raises(FileNotFoundError, match=r"a\.py, .*b\.py"):
        demo.script()
