"""Each file and folder that a docstring, a comment or a design page names is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "torchlike"
_TOP = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING")]
PAGES = [*_TOP, *sorted((ROOT / "docs" / "design").glob("*.md"))]
_NAME = re.compile(r"(?<![\w./<{*-])((?:\w[\w.]*/)*\w[\w.]*\.py)\b(?![\w(*])|`((?:\w[\w.]*/)+)`")
_PROSE = re.compile(r'"""[\s\S]*?"""|#.*')
_CODE = re.compile(r"^```[\s\S]*?^```", re.MULTILINE)
#: Files of a user's: scripts in examples, what a hub or a module's folder holds.
_OF_USERS = {"train.py", "model.py", "module.py", "hubconf.py", "sitecustomize.py"}


def _names(text):
    return {a or b for a, b in _NAME.findall(text)} - _OF_USERS


def _absent(text, folders):
    return sorted(n for n in _names(text) if not any((at / n).exists() for at in folders))


def _folders(path):
    return [path, *(p for p in path.iterdir() if p.is_dir())]


def test_docstrings_and_comments_name_files_that_exist():
    absent = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tools").rglob("*.py")]):
        text = path.read_text("utf-8")
        if ".py" not in text and "/`" not in text:
            continue
        above = [p for p in path.parents if p.is_relative_to(ROOT)]
        near = [*_folders(path.parent), *above, PACKAGE]
        found = _absent("\n".join(_PROSE.findall(text)), near)
        if found:
            absent[str(path.relative_to(ROOT))] = found
    assert absent == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_name_files_that_exist(page):
    """A name is looked for beside the files that the same page names otherwise."""
    text = _CODE.sub("", page.read_text("utf-8"))
    near = [ROOT, PACKAGE, page.parent]
    near += _beside(text, near[:2])
    near += _beside(text, near)
    assert _absent(text, near) == []


def _beside(text, folders):
    """Return the folders of the files that are found below ``folders``, and those above them."""
    found = [at / n for n in _names(text) for at in folders if (at / n).exists()]
    own = {p if p.is_dir() else p.parent for p in found}
    return sorted(own | {p.parent for p in own})
