"""The names and arguments that 2.14 added, changed or removed, and what becomes of each here.

names_of_2_14.csv has the rows that ``python -m tools.release_names diff`` prints of 2.13.0 and
2.14.1, with the state of each; a name that is new here has its line changed.
"""

import csv
from pathlib import Path

import pytest

import torchlike
from tools.library_names import state
from tools.release_names import differences, signature

_TEXT = (Path(__file__).parent / "names_of_2_14.csv").read_text()
TABLE = list(csv.DictReader(_TEXT.splitlines()))


def is_there(name):
    if name.startswith("aten::"):
        return hasattr(torchlike.ops.aten, name.removeprefix("aten::").partition(".")[0])
    return state(name) == "there"


def test_what_is_done_is_there():
    assert [r["name"] for r in TABLE if r["state"] == "done" and not is_there(r["name"])] == []


def test_what_is_missing_says_why():
    added = [r for r in TABLE if r["change"] == "added" and r["state"] != "done"]
    assert [
        r["name"] for r in added if r["state"].startswith("missing") and is_there(r["name"])
    ] == []
    assert all(
        ":" in r["state"] or "where 2.14" in r["state"] for r in TABLE if r["state"] != "done"
    )


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("_higher_order_ops.scan", "length"),
        ("optim.LBFGS", "maximize"),
        ("utils.checkpoint.checkpoint", "respect_saved_tensors_hooks"),
        ("distributions.Gamma.rsample", "generator"),
        ("autograd.profiler.profile.key_averages", "include_python_functions"),
    ],
)
def test_changed_functions_take_the_argument(name, argument):
    found = torchlike
    for part in name.split("."):
        found = getattr(found, part)
    assert f"{argument}=" in signature(found)


def test_the_tool_tells_what_differs():
    before = {"torch.a": "module", "torch.a.f": "(x)", "torch.a.old": "()", "torch.a.C": "class"}
    after = {
        "torch.a": "module",
        "torch.a.f": "(x, y=1)",
        "torch.a.C": "class",
        "torch.a.C.m": "(self)",
        "torch.b": "module",
        "torch.b.g": "()",
    }
    assert list(differences(before, {"torch": "module", **after})) == [
        ("added", "torch", "module"),
        ("added", "torch.a.C.m", "(self)"),
        ("changed", "torch.a.f", "(x) → (x, y=1)"),
        ("removed", "torch.a.old", "()"),
    ]


def test_the_tool_reads_signatures_without_types():
    def f(x: int, *args: float, y: str = "a", **more: bool) -> None: ...

    assert signature(f) == "(x, *args, y='a', **more)"
    assert signature(3) == ""
