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
def test_notebooks_are_kept_with_outputs(path):
    """As ``python -m tools.notebook`` writes them."""
    found = json.loads(path.read_text("utf-8"))["cells"]
    code = [c for c in found if c["cell_type"] == "code"]
    assert [c["execution_count"] for c in code] == list(range(1, len(code) + 1))
    kinds = [o["output_type"] for c in code for o in c["outputs"]]
    assert "error" not in kinds
    assert "display_data" in kinds
    prints = [c for c in code if "print(" in "".join(c["source"])]
    assert all(c["outputs"] for c in prints)
    said = "".join(line for c in code for o in c["outputs"] for line in o.get("text", []))
    assert PRINTED[path.stem] in said
    assert cells(path, "markdown")[0].startswith("# ")


def test_a_cell_gives_what_it_prints_and_its_last_value():
    pytest.importorskip("matplotlib")
    from tools import notebook

    names = {}
    assert notebook.execute("x = 2\nprint(x)", names, 1)[0]["text"] == ["2\n"]
    (value,) = notebook.execute("x + 1", names, 2)
    assert (value["data"]["text/plain"], value["execution_count"]) == (["3"], 2)
