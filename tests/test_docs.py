"""The Python of docs/ runs: what stands in a page's ```python fences, in order, as one program.

Pages with files and commands, tutorials among them, are followed by ``test_tutorials.py``.
"""

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
    for p in sorted([*DOCS.glob("*.md"), *DOCS.glob("how-to/*.md")], reverse=True)
    if _BLOCK.search(p.read_text("utf-8"))
}
#: What a page needs that not every environment for tests has.
NEEDS = {"onnx.md": ("jax2onnx", "onnxruntime")}


@pytest.mark.sampled(every=99, of=lambda p: p["name"] != "start.md")
@pytest.mark.parametrize("name", PAGES)
def test_the_code_of_a_page_runs(name, tmp_path):
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
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


ROOT = DOCS.parent
_PAGES_WITH_LINKS = [
    *(ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")),
    *sorted(DOCS.rglob("*.md")),
]
_LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(page):
    """The headings of a page as addresses within it."""
    headings = re.findall(r"^#+ (.*)$", _CODE.sub("", page.read_text("utf-8")), re.MULTILINE)
    words = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", h).strip().lower() for h in headings)
    return {re.sub(r"[^\w\- ]", "", w).replace(" ", "-") for w in words}


@pytest.mark.parametrize("page", _PAGES_WITH_LINKS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    broken = []
    for path, anchor in _LINK.findall(_CODE.sub("", page.read_text("utf-8"))):
        if "://" in path or path.startswith("mailto:"):
            continue
        target = page.parent / path if path else page
        known = target.exists() and (
            not anchor or target.suffix != ".md" or anchor in anchors(target)
        )
        if not known:
            broken.append(f"{path}#{anchor}")
    assert broken == []


def test_readme_is_read_in_a_minute():
    assert (ROOT / "README.md").read_text("utf-8").count("\n") <= 80


def test_every_page_has_a_place_in_the_site():
    nav = (ROOT / "zensical.toml").read_text("utf-8")
    pages = [
        p for folder in (".", "how-to", "tutorials") for p in sorted((DOCS / folder).glob("*.md"))
    ]
    assert [p.name for p in pages if f'"{p.relative_to(ROOT)}"' not in nav] == []


@pytest.mark.parametrize("folder", ["how-to", "tutorials"])
def test_a_page_is_read_in_five_minutes(folder):
    long = [p.name for p in (DOCS / folder).glob("*.md") if p.read_text("utf-8").count("\n") > 80]
    assert long == []
