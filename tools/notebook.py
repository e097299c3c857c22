"""``python -m tools.notebook [FILE …]``: run the cells of notebooks, and keep what they give.

Each notebook of examples/ by default. Cells run in order in one fresh namespace; their text and
figures are kept as outputs, times as the machine had them.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def _figures() -> list[dict[str, Any]]:
    """Return the figures that are open as outputs, and close them."""
    made = []
    for number in plt.get_fignums():
        data = io.BytesIO()
        plt.figure(number).savefig(data, format="png", dpi=80, bbox_inches="tight")
        image = base64.b64encode(data.getvalue()).decode()
        made.append({"output_type": "display_data", "metadata": {}, "data": {"image/png": image}})
    plt.close("all")
    return made


def execute(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a cell and return its outputs: what it prints, its figures, its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"<cell {count}>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"<cell {count}>", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    outputs += _figures()
    if value is not None:
        shown = {"text/plain": repr(value).splitlines(keepends=True)}
        result = {"output_type": "execute_result", "metadata": {}, "data": shown}
        outputs.append({**result, "execution_count": count})
    return outputs


def run(path: Path) -> None:
    """Run the notebook at ``path``, and write it with its outputs."""
    mpl.use("agg")
    notebook = json.loads(path.read_text("utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["outputs"] = execute("".join(cell["source"]), names, count)
            cell["execution_count"] = count
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:] or sorted(EXAMPLES.glob("*.ipynb"))):
        run(file)
