"""The cells of each notebook run, in order, as one program."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
#: What each of them prints when all went well.
PRINTED = {"eager_and_compiled": "largest difference"}


def cells(path, kind):
    found = json.loads(path.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_cells_run(path, tmp_path):
    pytest.importorskip("matplotlib")
    script = tmp_path / f"{path.stem}.py"
    script.write_text("\n\n".join(cells(path, "code")), "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(EXAMPLES.parent)},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert PRINTED[path.stem] in done.stdout


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_are_kept_without_outputs(path):
    found = json.loads(path.read_text("utf-8"))["cells"]
    assert all(not c["outputs"] and c["execution_count"] is None for c in found if "outputs" in c)
    assert cells(path, "markdown")[0].startswith("# ")
