"""``torchlike run``, from the command line to what the user reads."""

import pytest

from tests.porting.commands import torchlike_command, write

ALIASES = """
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader
import torchlike

print(torch is torchlike, nn is torchlike.nn, F is torchlike.nn.functional, Tensor is torch.Tensor)
print(F.relu(torch.tensor([-1.0, 2.0])))
for name, module in sys.modules.items():
    if name.split(".")[0] == "torch" and module.__spec__.name.split(".")[0] != "torchlike":
        print("not torchlike:", name)
print("matplotlib" in sys.modules, sys.argv[1:], torch.get_num_threads())
"""


def test_torch_is_torchlike(tmp_path):
    write(tmp_path, "script.py", ALIASES)
    words = ("run", "--threads", "3", "script.py", "--lr", "3")
    result = torchlike_command(*words, cwd=tmp_path)
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "True True True True",
        "tensor([0., 2.])",
        "False ['--lr', '3'] 3",
    ]


@pytest.mark.exhaustive
def test_real_pytorch_is_not_even_looked_for(tmp_path):
    (tmp_path / "torch").mkdir()
    write(tmp_path / "torch", "__init__.py", "raise SystemExit('the real one')")
    write(tmp_path, "script.py", "import torch; print(torch.__version__)")
    result = torchlike_command("run", "script.py", cwd=tmp_path)
    assert result.stdout == "2.13.0+torchlike\n"


ERRORS = {
    "import torch.fx.no_such_module": (
        "ModuleNotFoundError: torchlike has no torch.fx.no_such_module; "
        "jax.make_jaxpr shows the graph of a function of arrays"
    ),
    "from torch.nn import NoSuchLayer": "ImportError: torchlike has no torch.nn.NoSuchLayer; ",
    "import torch; torch.nn.NoSuchLayer": (
        "AttributeError: torchlike has no torch.nn.NoSuchLayer; "
    ),
    "import torch; torch.ones(2, 3) @ torch.ones(2, 3)": "RuntimeError: ",
    "import torch; torch.ones(3).view(2)": "RuntimeError: ",
    "import torch; torch.ones(3).backward()": "RuntimeError: element 0 of tensors does not require",
}


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("source", ERRORS)
def test_errors_show_the_scripts_frames_only(tmp_path, source):
    script = write(tmp_path, "script.py", source)
    result = torchlike_command("run", "script.py", cwd=tmp_path)
    first, second, third, *_, last = result.stderr.splitlines()
    assert result.returncode == 1
    assert first == "Traceback (most recent call last):"
    assert second == f'  File "{script}", line 1, in <module>'
    assert third == f"    {source}"
    assert last.startswith(ERRORS[source])
    assert result.stderr.count("  File ") == 1


@pytest.mark.exhaustive
def test_missing_tensor_method_is_explained(tmp_path):
    write(tmp_path, "script.py", "import torch; torch.ones(3).no_such_method()")
    result = torchlike_command("run", "script.py", cwd=tmp_path)
    *_, error, note = result.stderr.splitlines()
    assert error.startswith("AttributeError: 'Tensor' object has no attribute 'no_such_method'")
    assert note.startswith("torchlike has no torch.Tensor.no_such_method; ")


@pytest.mark.exhaustive
def test_a_users_module_between_our_frames_is_shown(tmp_path):
    write(
        tmp_path,
        "script.py",
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x @ x\n"
        "torch.nn.Sequential(Net())(torch.ones(2, 3))\n",
    )
    result = torchlike_command("run", "script.py", cwd=tmp_path)
    files = [line for line in result.stderr.splitlines() if line.startswith("  File ")]
    assert [line.partition(", ")[2] for line in files] == [
        "line 5, in <module>",
        "line 4, in forward",
    ]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["nope.py"], 2, "torchlike: can't open file "),
        (["-m", "nope"], 1, "torchlike: No module named nope\n"),
        (["bad.py"], 1, "  File "),
        (["seven.py"], 7, ""),
    ],
)
def test_exit_codes(tmp_path, arguments, code, error):
    write(tmp_path, "bad.py", "def f(:\n")
    write(tmp_path, "seven.py", "raise SystemExit(7)")
    result = torchlike_command("run", *arguments, cwd=tmp_path)
    assert result.returncode == code
    assert result.stderr.startswith(error)
    assert "Traceback" not in result.stderr


@pytest.mark.exhaustive
def test_unknown_compile_mode_is_refused(tmp_path):
    write(tmp_path, "script.py", "")
    result = torchlike_command("run", "script.py", cwd=tmp_path, TORCHLIKE_COMPILE="all")
    assert result.returncode == 2
    assert result.stderr == (
        "torchlike: TORCHLIKE_COMPILE is 'all'; it must be one of off, regions, modules\n"
    )
