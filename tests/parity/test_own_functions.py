"""Every public function and class that PyTorch does not have is in the list of those whose
docstrings are held to say what they take."""

import csv
import importlib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from test_docstring_examples import OURS  # noqa: E402

PLACES = (
    "autograd",
    "compiler",
    "distributed",
    "distributed.checkpoint",
    "export",
    "interop",
    "interop.flax",
    "jit",
    "nn",
    "nn.functional",
    "optim",
    "profiler",
    "serialization",
    "testing",
    "testing.strategies",
    "utils.data",
)
#: Under PyTorch's own names elsewhere, or forms of one.
NOT_OURS = {"autograd.is_grad_enabled", "autograd.once_differentiable", "autograd.FunctionCtx"}
#: Those of a later release of PyTorch's than the one that is compared with.
_TABLE = Path(__file__).with_name("names") / "names_of_2_14.csv"
_ROWS = csv.DictReader(_TABLE.read_text("utf-8").splitlines())
LATER = {row["name"].rpartition(".")[2] for row in _ROWS if row["state"] == "done"}


def _beyond(place):
    """Return the names of functions and classes in a module that PyTorch lacks there."""
    module = importlib.import_module(f"torchlike.{place}")
    try:
        theirs = importlib.import_module(f"torch.{place}")
    except ImportError:
        theirs = None
    names = [n for n in getattr(module, "__all__", dir(module)) if not n.startswith("_")]
    found = [(n, getattr(module, n)) for n in names if not hasattr(theirs, n)]
    return {
        f"{place}.{n}"
        for n, value in found
        if n not in LATER
        and callable(value)
        and str(getattr(value, "__module__", "")).startswith("torchlike")
    }


@pytest.mark.parametrize("place", PLACES)
def test_the_list_is_whole(place):
    if "flax" in place:
        pytest.importorskip("flax")
    if "strategies" in place:
        pytest.importorskip("hypothesis")
    in_place = {n for n in _beyond(place) if n.endswith("_")}  # forms of operators
    assert _beyond(place) - in_place - NOT_OURS <= set(OURS)
