"""Where ``import torch`` means torchlike, classes say so that libraries look up by their module."""

import importlib.util
import subprocess
import sys

import pytest

import torchlike
from torchlike._runtime.homes import home

_START = "import torchlike; torchlike.install_alias(); import torch\n"


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_the_classes_say_torch_until_the_alias_is_removed():
    found = run(
        _START + "import pickle\n"
        "from torch.utils.data import DataLoader\n"
        "from torchlike._runtime.homes import home\n"
        "classes = torch.Tensor, torch.nn.Parameter, DataLoader\n"
        "print([c.__module__ for c in classes], [home(c) for c in classes])\n"
        "print(all(pickle.loads(pickle.dumps(c)) is c for c in classes), torch.Tensor)\n"
        "p = pickle.loads(pickle.dumps(torch.nn.Parameter(torch.ones(2))))\n"
        "print(type(p) is torch.nn.Parameter, repr(p).splitlines()[0])\n"
        "torchlike.remove_alias()\n"
        "print([c.__module__ for c in classes])\n"
    )
    theirs = ["torch", "torch.nn.parameter", "torch.utils.data.dataloader"]
    ours = ["torchlike", "torchlike.nn.parameter", "torchlike.utils.data.dataloader"]
    assert found == [
        f"{theirs} {ours}",
        "True <class 'torch.Tensor'>",
        "True Parameter containing:",
        f"{ours}",
    ]


def test_what_is_compiled_knows_that_they_are_the_librarys():
    """A step with a loader, a module and parameters compiles once, and follows what it reads."""
    found = run(
        _START + "import torchlike as tl\n"
        "loader = torch.utils.data.DataLoader(torch.arange(6.), batch_size=2)\n"
        "w = torch.nn.Parameter(torch.ones(2))\n"
        "kinds = [torch.Tensor, torch.nn.Parameter]\n"
        "@tl.jit\n"
        "def step(x):\n"
        "    return (x * w).sum() * (loader.batch_size + len(kinds)) * isinstance(x, kinds[0])\n"
        "print([step(x).item() for x in loader], len(step.programs()))\n"
        "loader.__dict__['batch_size'] = 3\n"
        "print(step(torch.ones(2)).item())\n"
    )
    assert found[0].startswith("[4.0, 20.0, 36.0]")
    assert found == ["[4.0, 20.0, 36.0] 1", "10.0"]


def test_without_an_alias_a_class_stands_where_it_says():
    assert home(torchlike.Tensor) == torchlike.Tensor.__module__ == "torchlike"
    assert home(int) == "builtins"


@pytest.mark.skipif(not importlib.util.find_spec("autoray"), reason="needs autoray")
def test_autoray_takes_its_functions_of_torch():
    lines = "import autoray; x = torch.ones(2, 3); print(autoray.infer_backend(x))\n"
    assert run(_START + lines + "print(autoray.do('sum', x).item())\n") == ["torch", "6.0"]


@pytest.mark.skipif(not importlib.util.find_spec("einops"), reason="needs einops")
def test_einops_knows_the_tensors():
    lines = "import einops; x = torch.ones(2, 3)\n"
    assert run(_START + lines + "print(einops.rearrange(x, 'a b -> (b a)').shape)\n") == [
        "torch.Size([6])"
    ]


@pytest.mark.skipif(not importlib.util.find_spec("array_api_compat"), reason="needs it")
def test_array_api_compat_knows_the_tensors():
    lines = "import array_api_compat as c; x = torch.ones(2)\n"
    assert run(_START + lines + "print(c.is_torch_array(x), c.array_namespace(x).__name__)\n") == [
        "True array_api_compat.torch"
    ]


def test_a_loader_is_found_by_its_bases_names():
    """As Keras looks for one."""
    assert run(
        _START + "loader = torch.utils.data.DataLoader([1])\n"
        "print(any(c.__name__ == 'DataLoader' and 'torch.utils.data' in str(c.__module__)\n"
        "          for c in type(loader).__mro__))\n"
    ) == ["True"]
