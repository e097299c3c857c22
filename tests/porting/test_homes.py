"""Where ``import torch`` means torchlike, classes and functions say so by their module."""

import importlib
import importlib.util
import subprocess
import sys

import pytest

import torchlike
from torchlike._runtime.homes import home
from torchlike.porting.shown_names import PLACES

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


def test_every_public_class_says_where_pytorch_has_it():
    """But for what PyTorch does not have."""
    found = run(
        _START + "import pickle, torch.distributed.fsdp, torch.return_types\n"
        "rooms = [torch, torch.nn, torch.nn.functional, torch.optim, torch.optim.lr_scheduler,\n"
        "         torch.utils.data, torch.distributions, torch.fx, torch.autograd, torch.linalg,\n"
        "         torch.cuda, torch.jit, torch.distributed, torch.distributed.fsdp,\n"
        "         torch.profiler, torch.package, torch.return_types, torch.nn.utils.parametrize]\n"
        "classes = {c for room in rooms for n in dir(room) if not n.startswith('_')\n"
        "           for c in [getattr(room, n)] if isinstance(c, type)}\n"
        "ours = [c for c in classes if c.__module__.partition('.')[0] == 'torchlike']\n"
        "print(sorted(c.__name__ for c in ours))\n"
        "theirs = [c for c in classes if c.__module__.partition('.')[0] == 'torch']\n"
        "print([c for c in theirs if pickle.loads(pickle.dumps(c)) is not c], len(theirs) > 400)\n"
        "print(torch.nn.Linear.__module__, torch.optim.lr_scheduler.StepLR.__module__,\n"
        "      type(torch.ones(2, 2).max(0)).__module__,\n"
        "      torch.package.PackageExporter.__module__)\n"
        "torchlike.remove_alias()\n"
        "print({c for c in classes if c.__module__.partition('.')[0] == 'torch'} or 'none')\n"
    )
    own = ["CapturedProgram", "Entry", "JitCaptureError", "JitFunction", "deferred"]
    assert found == [
        str(own),
        "[] True",
        "torch.nn.modules.linear torch.optim.lr_scheduler torch.return_types torch.package",
        "none",
    ]


def test_the_table_names_what_there_is():
    """Each place has classes of the module, and is another."""
    for at, said in PLACES.items():
        module = importlib.import_module(f"torchlike.{at}".rstrip("."))
        for name, place in said.items():
            names = [name] if name else [n for n, x in vars(module).items() if _is_of(x, module)]
            there = importlib.import_module(f"torchlike.{place}".rstrip("."))
            found = [n for n in names if getattr(there, n, None) is getattr(module, n)]
            assert found, (at, name, place)
            assert at != place or said[""] != place


def _is_of(x, module):
    return callable(x) and getattr(x, "__module__", None) == module.__name__


def test_source_and_annotations_are_found_by_the_shown_module():
    assert run(
        _START + "import inspect, typing\n"
        "print(inspect.getsource(torch.nn.Linear).partition('(')[0])\n"
        "print(typing.get_type_hints(torch.nn.Linear)['weight'] is torch.Tensor)\n"
        "print(inspect.getsource(torch.set_default_device).partition('(')[0])\n"
        "hints = typing.get_type_hints(torch.nn.functional.cross_entropy)\n"
        "print(hints['return'] is torch.Tensor)\n"
    ) == ["class Linear", "True", "def set_default_device", "True"]


def test_annotations_of_classes_that_say_another_module_are_read_in_their_own():
    assert run(
        "import torchlike, typing\n"
        "before = dict(torchlike.optim.lr_scheduler.OneCycleLR.__annotations__)\n"
        "torchlike.install_alias()\n"
        "import torch\n"
        "from torch.utils.data._utils.worker import WorkerInfo\n"
        "classes = [torch.distributions.transforms.Transform, torch.jit.ScriptModule,\n"
        "           torch.optim.lr_scheduler.OneCycleLR, WorkerInfo]\n"
        "print([c.__name__ for c in classes if not typing.get_type_hints(c)])\n"
        "torchlike.remove_alias()\n"
        "print([c.__name__ for c in classes if not typing.get_type_hints(c)])\n"
        "print(torchlike.optim.lr_scheduler.OneCycleLR.__annotations__ == before)\n"
    ) == ["[]", "[]", "True"]


def test_the_functions_say_torch_until_the_alias_is_removed():
    names = (
        "[torch.add, torch.einsum, torch.nn.functional.relu, torch.linalg.inv, torch.save,\n"
        " torch.set_num_threads, torch.distributed.all_reduce, torch.utils.data.default_collate]"
    )
    found = run(
        _START + "import functools, pickle\n"
        f"functions = {names}\n"
        "print([f.__module__ for f in functions])\n"
        "print(all(pickle.loads(pickle.dumps(f)) is f for f in functions))\n"
        "wrapped = functools.wraps(torch.relu)(lambda x: torch.relu(x))\n"
        "print(wrapped.__module__, torch.install_alias.__module__)\n"
        "torchlike.remove_alias()\n"
        "print({f.__module__.partition('.')[0] for f in functions})\n"
        "print(all(pickle.loads(pickle.dumps(f)) is f for f in functions))\n"
    )
    theirs = ["torch", "torch.functional", "torch.nn.functional", "torch.linalg"]
    theirs += ["torch.serialization", "torch", "torch.distributed.distributed_c10d"]
    theirs += ["torch.utils.data._utils.collate"]
    alias = "torch torchlike.porting.torch_alias"
    assert found == [f"{theirs}", "True", alias, "{'torchlike'}", "True"]


def test_what_is_loaded_later_says_torch_too():
    """By whatever import: the package's own ones do not name the alias."""
    assert run(
        _START + "import sys\n"
        "print('torchlike.export' in sys.modules)\n"
        "import torchlike.export\n"
        "print(torch.export.ExportedProgram.__module__, torch.export.export.__module__)\n"
        "torchlike.remove_alias()\n"
        "import torchlike.onnx\n"
        "print(torchlike.export.export.__module__, torchlike.onnx.export.__module__)\n"
    ) == ["False", "torch.export.exported_program torch.export"] + [
        "torchlike.export.program torchlike.onnx"
    ]


def test_graphs_distributions_and_whole_models_work_with_shown_classes():
    assert run(
        _START + "import io, pickle\n"
        "model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())\n"
        "traced = torch.fx.symbolic_trace(model)\n"
        "print([node.op for node in traced.graph.nodes])\n"
        "x = torch.ones(1, 2)\n"
        "print(torch.equal(pickle.loads(pickle.dumps(traced))(x), model(x)))\n"
        "print(torch.distributions.Normal(torch.zeros(1), 1.0).expand([3]).batch_shape)\n"
        "file = io.BytesIO()\n"
        "torch.save([*model, torch.nn.functional.relu, torch.add], file)\n"
        "print(b'ctorch.nn.modules.linear' in file.getvalue(), b'torchlike' in file.getvalue())\n"
        "file.seek(0)\n"
        "torchlike.remove_alias()\n"
        "again = torchlike.load(file, weights_only=False)\n"
        "print(type(again[0]) is torchlike.nn.Linear, torchlike.equal(again[0](x), model[0](x)))\n"
        "print(again[2] is torchlike.nn.functional.relu, again[3] is torchlike.add)\n"
    ) == [
        "['placeholder', 'call_module', 'call_module', 'output']",
        "True",
        "torch.Size([3])",
        "True False",
        "True True",
        "True True",
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
