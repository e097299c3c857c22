"""What a release says of itself in several places is one thing."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_version_is_one():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert cited is not None
    assert newest is not None
    assert {cited.group(1), newest.group(1)} == {PROJECT["version"]}


def test_classifiers_name_the_pythons_that_are_taken():
    oldest = int(PROJECT["requires-python"].removeprefix(">=3."))
    named = [
        int(c.rpartition(".")[2])
        for c in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", c)
    ]
    assert named == list(range(oldest, oldest + len(named)))
