"""The names of PyTorch's that two or more libraries use, and what becomes of each here.

library_names.csv is made by ``python -m tools.library_names`` of 104 libraries as pip gives them,
and again of 91; a name that is new here has its line changed.
"""

import csv
from pathlib import Path

from tools.library_names import known, names_in, sources, state

_TEXT = (Path(__file__).parent / "library_names.csv").read_text()
TABLE = list(csv.DictReader(_TEXT.splitlines()))
#: What is missing, so that even to ask for it raises, and why.
MISSING = {
    "torch._inductor.config.eager_numerics": "how the Inductor rounds; nothing of it runs here",
    "torch._inductor.config.post_grad_custom_post_pass": "a pass that would never run",
    "torch.ops.prims.convert_element_type": "there are no prims: torch.ops.aten has the operators",
}


def test_each_name_is_as_the_table_says():
    assert {row["name"]: state(row["name"]) for row in TABLE} == {
        row["name"]: row["state"] for row in TABLE
    }


def test_what_is_missing_has_a_reason():
    assert {row["name"] for row in TABLE if row["state"] == "missing"} == MISSING.keys()


def test_names_are_read_through_aliases(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("import torch; torch.rand")
    (tmp_path / "it.py").write_text(
        "import torch, torch.nn as nn\n"
        "from torch.nn import functional as F\n"
        "from torch.utils.data import DataLoader as Loader\n"
        "F.relu(nn.Linear.forward.__doc__); self.torch.zeros; torch.ones(1).sum()\n"
    )
    (text,) = sources(tmp_path)
    assert names_in(text) == {
        "torch",
        "torch.nn",
        "torch.nn.functional",
        "torch.utils.data.DataLoader",
        "torch.nn.functional.relu",
        "torch.nn.Linear.forward.__doc__",
        "torch.ones",
    }
    assert names_in("this is no Python") == set()


def test_what_pytorch_defines_of_a_name():
    assert known("torch.nn.Linear.forward.__doc__") == "torch.nn.Linear.forward"
    assert known("torch.no_such_name") is None
    assert known("torch.utils.data.dataloader") == "torch.utils.data.dataloader"
