"""The Python of docs/ runs: what stands in a page's ```python fences, in order, as one program."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def program(text):
    """The page with all but its code as comments, so that a traceback names the page's lines."""
    lines = ["#"] * (text.count("\n") + 1)
    for found in _BLOCK.finditer(text):
        first = text.count("\n", 0, found.start(1))
        code = found.group(1).splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines) + "\n"


PAGES = {
    p.name: p
    for p in sorted(DOCS.glob("*.md"), reverse=True)
    if _BLOCK.search(p.read_text("utf-8"))
}


@pytest.mark.sampled(every=99, of=lambda p: p["name"] != "start.md")
@pytest.mark.parametrize("name", PAGES)
def test_the_code_of_a_page_runs(name, tmp_path):
    script = tmp_path / f"{name}.py"
    script.write_text(program(PAGES[name].read_text("utf-8")), "utf-8")
    # By the launcher: a page may say `import torch`.
    command = [sys.executable, "-W", "error", "-m", "torchlike", "run", str(script)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr


def test_lines_are_those_of_the_page():
    assert program("one\n```python\nx = 1\n```\ntwo\n").splitlines()[2] == "x = 1"
    assert "changing-shapes.md" in PAGES
    assert "timing.md" in PAGES
