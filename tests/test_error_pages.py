"""Errors with a remedy have a code and a page, on which the wrong code raises it and the right code
runs."""

import linecache
import re
from pathlib import Path

import pytest

import torchlike
from torchlike._runtime.error_codes import CODES, with_code

DOCS = Path(__file__).parents[1] / "docs"
_BLOCK = re.compile(r"^## (Wrong|Right)\n.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(code):
    return dict(_BLOCK.findall((DOCS / "errors" / f"{code}.md").read_text("utf-8")))


def execute(source, name):
    """Run the code of a page, with its lines where a capture looks for them."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"torch": torchlike, "torchlike": torchlike, "__name__": "page"}
    try:
        exec(compile(source, name, "exec"), names)
    finally:
        del linecache.cache[name]


@pytest.mark.parametrize("code", CODES)
def test_wrong_code_raises_the_error(code):
    with pytest.raises(Exception) as raised:
        execute(blocks(code)["Wrong"], f"<{code} wrong>")
    assert str(raised.value).endswith(f"[{code}]")


@pytest.mark.parametrize("code", CODES)
def test_right_code_runs(code):
    execute(blocks(code)["Right"], f"<{code} right>")


def test_every_page_has_a_code_and_is_listed():
    assert {path.stem for path in (DOCS / "errors").glob("*.md")} == set(CODES)
    listed = re.findall(r"\(errors/(TL\d+)\.md\)", (DOCS / "errors.md").read_text("utf-8"))
    assert listed == list(CODES)


def test_a_code_is_given_once_and_only_where_there_is_one():
    once = with_code(".item() needs a value while f is captured.")
    assert once.endswith("captured. [TL1001]")
    assert with_code(once) == once
    assert with_code("something else") == "something else"
