"""`torchlike.install_alias` and `import torchlike.as_torch`, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike

ROOT = str(Path(torchlike.__file__).parent.parent)

USES = """
import torch.nn.functional as F
from torch.utils.data import DataLoader
import torch, torch.nn as nn, torchlike
assert torch is torchlike and F is torchlike.nn.functional and nn is torchlike.nn
assert [batch.tolist() for batch in DataLoader(torch.arange(3), batch_size=2)] == [[0, 1], [2]]
"""


def python(tmp_path, *arguments):
    """Runs in a folder where another package `torch` would be found first."""
    (tmp_path / "torch").mkdir(exist_ok=True)
    (tmp_path / "torch" / "__init__.py").write_text("name = 'another package'")
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    "first",
    [
        "import torchlike\ntorchlike.install_alias()",
        "import torchlike.as_torch",
        "import torchlike as torch\ntorch.install_alias()",
        "import torchlike.as_torch, torchlike\ntorchlike.install_alias()",
        "import torchlike\nfor _ in range(3): torchlike.install_alias()",
    ],
)
def test_import_torch_means_torchlike(tmp_path, first):
    result = python(tmp_path, "-c", f"{first}\n{USES}")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.exhaustive
def test_it_is_installed_once(tmp_path):
    code = (
        "import sys, torchlike\n"
        "for _ in range(3): torchlike.install_alias()\n"
        "import torchlike.as_torch\n"
        "print(sorted(f.alias for f in sys.meta_path if type(f).__name__ == 'AliasFinder'))"
    )
    assert python(tmp_path, "-c", code).stdout == "['functorch', 'torch']\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize("late", ["torchlike.install_alias()", "import torchlike.as_torch"])
def test_too_late_where_torch_has_been_imported(tmp_path, late):
    result = python(tmp_path, "-c", f"import torch, torchlike\n{late}")
    assert result.returncode == 1
    error = result.stderr.splitlines()[-1]
    assert error.startswith("RuntimeError: PyTorch itself has been imported already (")
    assert str(tmp_path / "torch" / "__init__.py") in error
    assert "restart the kernel" in error


@pytest.mark.exhaustive
def test_it_is_silent_under_the_launcher(tmp_path):
    (tmp_path / "script.py").write_text("import torchlike.as_torch\n" + USES)
    result = python(tmp_path, "-m", "torchlike", "run", "script.py")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.exhaustive
def test_missing_names_are_explained(tmp_path):
    result = python(tmp_path, "-c", "import torchlike.as_torch\nfrom torch.nn import NoSuchLayer")
    error = result.stderr.splitlines()[-1]
    assert error.startswith("ImportError: torchlike has no torch.nn.NoSuchLayer; ")


TEST = """
import torch
import torch.nn.functional as F

def test_relu():
    assert F.relu(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]
    assert torch.__version__.endswith("torchlike")
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["plugin", "ini", "conftest"])
def test_tests_of_a_project(tmp_path, how):
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nfilterwarnings = error\n"
        + ("addopts = -p torchlike.as_torch\n" if how == "ini" else "")
    )
    if how == "conftest":
        (tmp_path / "conftest.py").write_text("import torchlike.as_torch\n")
    plugin = ["-p", "torchlike.as_torch"] if how == "plugin" else []
    result = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin)
    assert result.returncode == 0, result.stdout
    assert "1 passed" in result.stdout


#: `python` puts another package of the name in front; `mine` and `other` import torch.
PACKAGES = {
    "mine/__init__.py": "import torch\nimport torch.nn.functional as F\nfrom torch import nn",
    "mine/below.py": "import importlib\ntorch = importlib.import_module('torch.nn')",
    "mine/wrong.py": "import torch.no_such_room",
    "other.py": "import torch",
}
PORTED = """
import torch, torchlike
assert torch.name == 'another package'
{first}
import mine, other
assert other.torch is torch
assert mine.torch is torchlike and mine.nn is torchlike.nn and mine.F is torchlike.nn.functional
import mine.below
assert mine.below.torch is torchlike.nn
try:
    import mine.wrong
except ModuleNotFoundError as error:
    assert error.name == 'torch.no_such_room' and 'torchlike has no' in str(error), error
else:
    raise AssertionError
torchlike.remove_alias()
del sys.modules['mine.below']
try:
    import mine.below
except ModuleNotFoundError as error:
    assert error.name == 'torch.nn', error
assert mine.torch is torchlike
"""


@pytest.mark.parametrize("first", ["only=['mine']", "except_=['other', '__main__']"])
def test_an_alias_for_some_packages(tmp_path, first):
    for name, text in PACKAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    code = PORTED.format(first=f"torchlike.install_alias({first})")
    result = python(tmp_path, "-c", f"import sys\n{code}")
    assert (result.returncode, result.stderr) == (0, "")


BOUNDED = """
import importlib.metadata, os, sys, torch, torchlike
real = torch
with torchlike.alias():
    import torch
    import torch.nn.functional as F
    assert torch is torchlike and F is torchlike.nn.functional
    with torchlike.alias():
        import torch.optim
    assert sys.modules['torch'] is torchlike
import torch
assert torch is real and torchlike.__name__ == 'torchlike' and 'torch.nn' not in sys.modules
assert F.relu(torchlike.ones(1)).item() == 1
del sys.modules['torch']
before = dict(os.environ)
torchlike.install_alias()
import torch.nn
assert torch is torchlike and dict(os.environ) != before
torchlike.remove_alias()
torchlike.remove_alias()
import torch
assert torch.name == 'another package' and dict(os.environ) == before
assert not any(type(f).__name__ == 'AliasFinder' for f in sys.meta_path)
"""


def test_an_alias_for_a_while(tmp_path):
    result = python(tmp_path, "-c", BOUNDED)
    assert (result.returncode, result.stderr) == (0, "")
