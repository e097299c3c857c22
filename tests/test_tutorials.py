"""The tutorials hold, and pages that write files: these are written, the commands run, and what
stands below a command is among what it prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {
    p.name: p for p in [*sorted(DOCS.glob("tutorials/*.md")), DOCS / "how-to/several-processes.md"]
}
_FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def run(command, folder):
    """Run lines of a shell, with this Python's commands first; return what they print."""
    # What a reader's shell does not have, either: pytest's own, and a test's seed.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
        env={**inherited, "PATH": path, "CI": "true", "COLUMNS": "80"},
    )
    return done.returncode, done.stdout + done.stderr


def follow(text, folder):
    """Do what a page says, in ``folder``; AssertionError where something else is printed."""
    program, said, code = [], "", 0
    for kind, title, body in _FENCE.findall(text):
        if kind == "text":
            missing = [line for line in body.splitlines() if line.strip() not in said]
            assert not missing, f"{missing} not in:\n{said}"
            assert (code != 0) == ("failed" in body), said
        elif title:
            (folder / title).write_text(body, "utf-8")
        elif kind == "python":
            program.append(body)
        else:
            code, said = run(body, folder)
    if program:
        (folder / "page.py").write_text("\n".join(program), "utf-8")
        code, said = run("python -W error page.py", folder)
        assert code == 0, said


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PAGES)
def test_a_tutorial_can_be_followed(name, tmp_path):
    follow(PAGES[name].read_text("utf-8"), tmp_path)


def page(body):
    return f"```bash\n{body}\n```\n\n```text\nloss 1.5\n```\n"


def test_other_words_than_those_of_the_page_are_found(tmp_path):
    follow(page("echo the loss 1.5"), tmp_path)
    with pytest.raises(AssertionError, match=r"\['loss 1.5'\] not in"):
        follow(page("echo loss 1.4"), tmp_path)
    with pytest.raises(AssertionError):
        follow(page("echo loss 1.5; false"), tmp_path)
