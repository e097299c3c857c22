"""Which release of PyTorch is followed: what it gives is what was recorded of that release."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchlike._runtime import reference

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "golden" / "releases.json").read_text())
PAGE = (HERE.parent / "docs" / "which-pytorch.md").read_text()


def run(release, *arguments):
    environment = {**os.environ, "TORCHLIKE_TORCH_VERSION": release}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("release", reference.RELEASES)
def test_the_results_are_those_of_the_release(release):
    made = run(release, str(HERE / "golden" / "make_releases.py"), "torchlike")
    assert made.returncode == 0, made.stderr
    # By their texts: a NaN is unlike itself.
    found, expected = json.loads(made.stdout), RECORDED[release]
    assert {k: repr(v) for k, v in found.items()} == {k: repr(v) for k, v in expected.items()}


def test_the_releases_differ_in_what_is_recorded():
    first, last = (RECORDED[release] for release in ("2.13", "2.14"))
    assert all(repr(first[name]) != repr(last[name]) for name in first)
    assert first.keys() == {name for name, c in reference.CHANGES.items() if not c.kept}


def test_the_version_is_that_of_the_release_here_and_in_a_script(tmp_path):
    ask = "import torchlike; print(torchlike.__version__)"
    assert run("2.14", "-c", ask).stdout == "2.14.1+torchlike\n"
    script = tmp_path / "script.py"
    script.write_text("import torch; print(torch.__version__ >= (2, 14), torch.__version__)")
    command = ("-m", "torchlike", "run", "--torch-version", "2.14", str(script))
    assert run("", *command).stdout == "True 2.14.1+torchlike\n"


def test_another_release_is_refused():
    ended = run("1.0", "-c", "import torchlike")
    assert "TORCHLIKE_TORCH_VERSION is '1.0'; it must be one of 2.13, 2.14" in ended.stderr


@pytest.mark.parametrize("name", reference.CHANGES)
def test_the_page_shows_the_change(name):
    change = reference.CHANGES[name]
    assert change.since in reference.RELEASES
    assert f"| {change.before} | {change.after} |" in PAGE
    assert all(f"`{function}`" in PAGE for function in change.names)
    assert change.kept in PAGE
