"""tools.new_op: its skeleton is an op, with all that follows from one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

USE = """
import torchlike as torch
from torchlike._core.dispatch.registry import OPS
x = torch.ones(2, 3, requires_grad=True)
y = torch.halved_again(x)
y.sum().backward()
assert x.grad.tolist() == torch.ones(2, 3).tolist()
assert x.detach().halved_again_() is not None
assert torch.halved_again(torch.ones(2), out=torch.empty(2)).tolist() == [1, 1]
assert torch.jit(torch.halved_again)(torch.ones(2)).tolist() == [1, 1]
assert "halved_again" in open("torchlike/__init__.pyi").read()
import sys
sys.path.insert(0, "tests/parity")
import op_cases_core
assert any(case.name == "halved_again" for case in op_cases_core.CASES)
"""


@pytest.fixture
def tree(tmp_path):
    """What the command changes or needs, in a place of its own."""
    for name in ("torchlike", "tools"):  # with its byte code, which takes seconds to make
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("docs/operators.md", "tests/parity/op_cases_core.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("op_harness.py", "oracle.py"):
        shutil.copy(ROOT / "tests/parity" / name, tmp_path / "tests/parity")
    return tmp_path


def command(tree, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tree,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tree)},
        check=False,
    )


@pytest.mark.exhaustive
@pytest.mark.parity
def test_the_skeleton_is_an_op(tree):
    pytest.importorskip("torch")  # op_harness compares with it
    made = command(tree, "-m", "tools.new_op", "halved_again")
    assert made.returncode == 0, made.stderr
    assert made.stdout.split("\n")[0] == "writing: torchlike/_ops/elementwise/unary.py"
    used = command(tree, "-c", USE)
    assert used.returncode == 0, used.stderr
    again = command(tree, "-m", "tools.new_op", "halved_again")
    assert again.returncode == 1
    assert "has halved_again already" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["3d"], "is no name for an op"),
        (["cube", "--family", "elementwise/nothing"], "there is no family"),
        (["cube", "--family", "nn/loss/loss"], "in no one table"),
    ],
)
def test_mistakes_change_nothing(tree, arguments, words):
    before = (tree / "torchlike/_ops/elementwise/unary.py").read_text()
    made = command(tree, "-m", "tools.new_op", *arguments)
    assert made.returncode == 1
    assert words in made.stderr
    assert (tree / "torchlike/_ops/elementwise/unary.py").read_text() == before
