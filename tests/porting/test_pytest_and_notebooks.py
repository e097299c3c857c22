"""docs/pytest-and-notebooks.md: the tests of a project with its files pass, and its cells run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike

ROOT = Path(torchlike.__file__).parent.parent
PAGE = Path(__file__).parents[2] / "docs" / "pytest-and-notebooks.md"
BLOCKS = re.findall(r"^```(?:python|ini)\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
FILES = {match[1]: block for block in BLOCKS if (match := re.match(r"# (\S+\.\w+)\n", block))}
CELLS = [block for block in BLOCKS if block not in FILES.values()]


def python(folder, *arguments):
    """Another package `torch` would be found before the real one."""
    (folder / "elsewhere" / "torch").mkdir(parents=True)
    (folder / "elsewhere" / "torch" / "__init__.py").write_text("name = 'another package'")
    path = os.pathsep.join([str(folder / "elsewhere"), str(ROOT)])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("files", [("pytest.ini", "conftest.py"), ("conftest.py",)])
def test_a_project_with_the_files_of_the_page(tmp_path, files):
    for name in (*files, "test_model.py"):
        (tmp_path / name).write_text(FILES[name])
    result = python(tmp_path, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert result.returncode == 0, result.stdout
    assert "2 passed" in result.stdout


@pytest.mark.exhaustive
def test_the_cells_run_one_after_the_other(tmp_path):
    assert len(CELLS) == 4
    # As a notebook does: each cell compiled by itself, all in one namespace.
    program = f"space = {{'__name__': '__main__'}}\nfor cell in {CELLS!r}: exec(cell, space)"
    result = python(tmp_path, "-W", "error", "-c", program)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.exhaustive
def test_an_import_below_an_alias_of_one_file_is_not_torchlikes(tmp_path):
    """What the page says of `import torchlike as torch`."""
    program = "import torchlike as torch\nimport torch.nn.functional as F"
    result = python(tmp_path, "-c", program)
    assert "ModuleNotFoundError: No module named 'torch.nn'" in result.stderr
