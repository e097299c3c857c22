"""The package as a whole: no PyTorch inside, rooms that only import downwards, nothing eager."""

import ast
import functools
import importlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import torchlike
from tools import house
from torchlike._runtime import provided

ROOT = Path(torchlike.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

#: The house from the ground up; a room, or a file of `_core`, may import what stands on lower or
#: equal floors.
FLOORS = [
    {"_runtime"},
    {
        "_compat.reexports",
        "_compat.qschemes",
        "_core.errors",
        "futures",
        "_core.modes",
        "_core.tensor_methods",
        "_core.overrides",
        "_core.layouts",
        "_core.size",
        "_compat.symbolic",
    },
    {
        "_compat.streams",
        "_core.dtypes",
        "_core.casts",
        "_core.devices",
        "_core.cells",
        "version",
        "profiler",
    },
    {"_core.storage", "_core.views"},
    {"_core.tensor_values"},
    {"tensor"},
    {
        "_core.tape",
        "_compat.tensor_copies",
        "_compat.tensor_repr",
    },
    {"_core.dispatch"},
    {"_extensions"},
    {"random"},
    {"_ops"},
    {"autograd", "_ops.functions", "_compat.symbolic_asking"},
    {"ops._aten"},
    {"_decomp"},
    {
        "distributed",
        "_compat.foreach",
        "linalg",
        "fft",
        "special",
        "signal",
        "masked",
        "nested",
        "overrides",
        "quasirandom",
        "sparse",
        "_compat.settings",
        "sparse._names",
        "sparse._rules",
        "sparse._tensor",
        "sparse._types",
        "_compat.storage_methods",
        "_compat.storage_types",
        "_compat.tensor_types",
        "_compat.typed_storage",
        "_compat.archives",
        "_compat.unsupported",
        "_compat.places",
        "_compat.devices",
        "_compat.print_settings",
        "_compat.types",
        "_compat.torch_version",
        "_compat.configuration",
        "_compat.return_types",
        "_compat.help",
        "_compat.numa",
        "ops",
    },
    {"_jit.guards"},
    {"_jit.capture"},
    {"_jit.trace"},
    {"_jit.program"},
    {"_jit.call"},
    {"_higher_order_ops.control_flow"},
    {"nn"},
    {
        "_utils",
        "amp",
        "distributed.algorithms.model_averaging",
        "distributed.optim",
        "optim",
        "utils",
        "serialization",
        "func",
        "_functorch",
        "distributions",
        "distributed._composable",
        "distributed._tensor",
        "distributed.checkpoint",
        "distributed.fsdp",
        "distributed.tensor.parallel",
        "hub",
    },
    {
        "ao.quantization.observer",
        "ao.quantization.fake_quantize",
        "ao.quantization.qconfig",
        "ao.quantization.qparams",
    },
    {"ao.nn"},
    {"ao"},
    {"multiprocessing._child_processes", "_subclasses"},
    {"serialization.stablehlo", "_dynamo.exc"},
    {"jit"},
    {
        "fx",
        "library",
        "multiprocessing",
        "_higher_order_ops",
        "_functorch.python_key",
        "ao.quantization.fx",
    },
    {"export", "onnx"},
    {"compiler", "distributed.pipelining"},
    {"_dynamo"},
    {
        "accelerator",
        "_compat.devices.cpu",
        "cuda",
        "backends",
        "backends.device_modules",
        "_compat.core",
    },
    {"interop", "testing"},
    {"porting"},
    {"porting.cli", "porting.as_torch"},
]
#: Stand outside the order: they gather names from every floor.
GATHERING = {"__init__", "__main__"}
#: Hold no code, and import nothing.
EMPTY = {"_core", "_compat", "_jit"}
#: One command that stands below the floor it is filed on, because programs call it first thing.
FREE = {"torchlike.porting.allocator"}
#: Files that stand as high as another room than the one they are filed in, which does not import
#: them: PyTorch has them there.
AS_HIGH_AS = {
    f"nn/attention/{name}.py": "accelerator" for name in ("block_mask", "flex_attention", "masks")
}
AS_HIGH_AS["nn/utils/_per_sample_grad.py"] = "func"


class Facts(NamedTuple):
    """What the tests below ask of a file."""

    imports: list[str]
    lengths: list[tuple[str, int]]
    bindings: list[str]
    classes: list[str]


@functools.cache
def _facts():
    """By the path below the package: every file is parsed and walked once, which takes seconds."""
    return {file.relative_to(ROOT).as_posix(): _facts_of(file) for file in FILES}


def _facts_of(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = [n for n in ast.walk(tree) if isinstance(n, (*_IMPORTS, *_FUNCTIONS, ast.ClassDef))]
    unused = _imports_of_annotations(tree)
    imports = [n for n in nodes if isinstance(n, _IMPORTS) and n not in unused]
    lengths = [(n.name, _lines(n)) for n in nodes if isinstance(n, _FUNCTIONS)]
    classes = [n.name for n in nodes if isinstance(n, ast.ClassDef)]
    names = [name for n in imports for name in _names(n)]
    return Facts(names, lengths, _bindings(tree, imports), classes)


_IMPORTS = (ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _imports_of_annotations(tree):
    """Return the imports under ``if TYPE_CHECKING:``, which nothing runs: an annotation may name a
    class that stands above."""
    return {
        n
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for statement in branch.body
        for n in ast.walk(statement)
        if isinstance(n, _IMPORTS)
    }


def _names(node):
    """The dotted names that an import asks for."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level:
        return []
    if node.module.partition(".")[0] == "torchlike":
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [node.module]


def _lines(function):
    """Return the lines of a function's body, its docstring not counted: a signature with thirty
    parameters of PyTorch's is not a long function."""
    body = function.body[ast.get_docstring(function, clean=False) is not None :]
    return function.end_lineno - body[0].lineno + 1 if body else 0


def _bindings(tree, imports):
    """Attributes of imported names that a file sets as it is imported."""
    imported = {a.asname or a.name.partition(".")[0] for n in imports for a in n.names}
    return [
        f"line {target.lineno}: {ast.unparse(target)} = ..."
        for statement in _at_import(tree.body)
        if isinstance(statement, (ast.Assign, ast.AugAssign))
        for target in getattr(statement, "targets", [getattr(statement, "target", None)])
        if isinstance(target, ast.Attribute) and _root_name(target) in imported
    ]


def _floor(dotted):
    """The floor of a module, by the longest of its names that has one."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        head = ".".join(parts[:n])
        for i, rooms in enumerate(FLOORS):
            if head in rooms:
                return i
    return None


def test_no_file_imports_torch():
    assert not [
        (path, name)
        for path, facts in _facts().items()
        for name in facts.imports
        if name.split(".")[0] == "torch"
    ]


def test_rooms_import_downwards_only():
    found = [line for path, facts in _facts().items() for line in _upwards(path, facts.imports)]
    assert found == []


def _upwards(path, imports):
    """Of a file's imports those that run up, or that it has no floor."""
    room = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if room in GATHERING or room in EMPTY:
        return
    own = _floor(AS_HIGH_AS.get(path, room))
    if own is None:
        yield f"{room} has no floor in FLOORS"
        return
    for name in imports:
        parts = name.split(".")
        if parts[0] != "torchlike" or len(parts) == 1 or name in FREE:
            continue
        floor = _floor(".".join(parts[1:]))
        if floor is not None and floor > own:
            yield f"{path} ({room}) imports {name} from above"


#: Lines of the longest function's body.
LONGEST = 80


def test_functions_are_short():
    """Of complexity ruff speaks (C901)."""
    assert not [
        (path, name, lines)
        for path, facts in _facts().items()
        for name, lines in facts.lengths
        if lines > LONGEST
    ]


#: Class names that stand at several places, because they do so in PyTorch: name -> how many, where.
NAMED_ALIKE = {
    "Attribute": (2, "torch.jit and torch.fx.proxy"),
    "AuxRequest": (2, "torch.nn.attention.flex_attention and .varlen"),
    "Event": (3, "torch, torch.cpu and torch.cuda"),
    "Graph": (2, "torch.fx and torch.accelerator"),
    "Identity": (2, "torch.nn and torch.nn.utils.prune"),
    "LSTM": (2, "torch.nn and torch.ao.nn.quantized.dynamic"),
    "Linear": (3, "torch.nn, torch.ao.nn.quantized.dynamic and .qat.dynamic"),
    "Node": (2, "torch.fx and torch.autograd.graph"),
    "Partition": (2, "torch.fx.passes.split_module and .infra.partitioner"),
    "SpawnContext": (2, "torch.multiprocessing, and Python's multiprocessing.context"),
    "Stream": (2, "torch and torch.cuda"),
    "TensorSpec": (2, "fx.experimental.dynamic_spec, and distributed.tensor's of a shape"),
    "Transformer": (2, "torch.nn and torch.fx"),
    "autocast": (2, "torch.amp and torch_xla.amp"),
    "device": (3, "torch, torch.cuda and torch.xpu"),
    "profile": (2, "torch.profiler and torch.autograd.profiler"),
}


def test_a_class_name_means_one_thing():
    """Names of classes, private ones too, are unique in the package: a name says which class it
    is, in a traceback, a search and a conversation."""
    counts = Counter(name for facts in _facts().values() for name in facts.classes)
    repeated = {name: count for name, count in counts.items() if count > 1}
    assert repeated == {name: count for name, (count, _) in NAMED_ALIKE.items()}


def test_no_file_puts_something_into_another_as_it_is_imported():
    """Such a late binding would be an import that runs up, hidden: a registration with a function
    of the lower room (``add_method``, ``rule``, ``register``) is the way."""
    assert not [(path, line) for path, facts in _facts().items() for line in facts.bindings]


def test_what_is_found_in_a_file(tmp_path):
    """The tests above would see it."""
    body = "".join(f"    x{i} = {i}\n" for i in range(LONGEST))
    (tmp_path / "file.py").write_text(
        "import torch.nn as nn\nfrom torchlike._core import tape\nfrom . import near\n"
        f'if nn:\n    tape.late = nn.late = 1\ndef long():\n    """Two\n    lines."""\n{body}'
        "class Outer:\n    class _Inner: ...\n"
        "if TYPE_CHECKING:\n    from torchlike.optim import Adam\n"
        "if nn:\n    from torchlike import fft\n"
    )
    facts = _facts_of(tmp_path / "file.py")
    assert facts.imports == ["torch.nn", "torchlike._core.tape", "torchlike.fft"]
    assert facts.lengths == [("long", LONGEST)]
    assert sorted(facts.classes) == ["Outer", "_Inner"]
    assert facts.bindings == ["line 5: tape.late = ...", "line 5: nn.late = ..."]
    above = ["torchlike.porting.demo", "torchlike._core.storage", "numpy", *FREE]
    found = list(_upwards("_core/tape.py", above))
    assert found == ["_core/tape.py (_core.tape) imports torchlike.porting.demo from above"]
    assert list(_upwards("nowhere/file.py", [])) == ["nowhere.file has no floor in FLOORS"]
    assert len(_facts()) == len(FILES) > 1000


def _at_import(body):
    """Statements that run when a file is imported."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.For, ast.With, ast.Try)):
            yield from _at_import(statement.body)


def _root_name(node):
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.exhaustive
def test_importing_starts_no_backend_and_no_torch():
    code = (
        "import sys, torchlike; from jax._src import xla_bridge; "
        "assert 'torch' not in sys.modules; assert not xla_bridge._backends"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})


#: Rooms that `import torchlike` leaves, as attributes of it.
LATER = ("_decomp", "ao.nn.quantized.dynamic", "ao.quantization", "distributed.optim", "export")
LATER = (*LATER, "fx.experimental.proxy_tensor", "hub", "quantization", "utils.model_zoo")


def test_rooms_are_imported_when_they_are_first_asked_for():
    code = (
        "import functools, sys, torchlike\n"
        f"for path in {LATER}:\n"
        "    assert f'torchlike.{path}' not in sys.modules, path\n"
        f"for path in {LATER}:\n"
        "    functools.reduce(getattr, path.split('.'), torchlike)\n"
        "assert torchlike.quantization is torchlike.ao.quantization\n"
        "assert not hasattr(torchlike.ao, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})


def test_every_public_path_can_be_imported():
    """Paths of PyTorch's that programs import: none is lost when files move."""
    paths = (Path(__file__).parent / "golden" / "public_paths.txt").read_text().split()
    assert [name for name in paths if not _can_be_imported(name)] == []


def _can_be_imported(name):
    """Whether a module is there; one that needs a package which is not installed is."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        return not (error.name or "torchlike").startswith("torchlike")
    return True


#: Files and folders at the root that PyTorch does not have.
OURS = {"__init__.pyi", "__main__.py", "py.typed", "_decomp", *house.OURS}


def test_the_root_holds_pytorchs_names_and_few_of_ours():
    paths = (Path(__file__).parent / "golden" / "public_paths.txt").read_text().split()
    public = {name.split(".")[1] for name in paths} | {"__init__", "onnx", "jit"}
    found = {p.name for p in ROOT.iterdir() if p.name != "__pycache__"}
    others = {n for n in found if n.partition(".")[0] not in public}
    assert others <= OURS, "PyTorch has no such name: put it into a room whose name begins with _"


def test_what_lower_rooms_ask_of_upper_ones_is_provided():
    """`Provided` and `Signal` are the one way up, beside ``add_method``; each is used. (Those with
    a default may come later: tests/distributed/test_across_processes.py asks for them.)"""
    importlib.import_module("torchlike.ops._aten.calling")  # imported when the first mode is there
    for asked in provided.ALL:
        assert asked.providers or asked.is_optional, asked.what
    assert len({asked.what for asked in provided.ALL}) == len(provided.ALL) > 5
