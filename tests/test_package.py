"""The package as a whole: no PyTorch inside, rooms that only import downwards, nothing eager."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike

ROOT = Path(torchlike.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

#: The house from the ground up; a room, or a file of `_core`, may import what stands on lower or
#: equal floors.
FLOORS = [
    {"_runtime"},
    {
        "__future__",
        "_core.determinism",
        "_core.errors",
        "futures",
        "_core.homes",
        "_core.modes",
        "_core.running_capture",
        "_core.printing",
        "_core.protocol",
        "_core.layouts",
        "_core.qschemes",
        "_core.mapped_files",
        "_core.shared_hooks",
        "_core.size",
        "_core.subclasses",
        "_compat.symbolic",
        "_compile",
        "_core.tracebacks",
        "_core.trees",
    },
    {
        "_core.dtypes",
        "_core.absent_dtypes",
        "_core.casts",
        "_core.memory_size",
        "_core.devices",
        "_core.meta",
        "_core.methods",
        "_core.parts_array",
        "_core.sparse_array",
        "_core.wrapped",
        "_core.boxes",
        "_core.streams",
        "_core.tree_leaf",
        "version",
        "torch_version",
        "profiler",
    },
    {"_core.addresses"},
    {"_core.storage", "_core.views"},
    {"_core.untyped_storage", "_core.wrapper_storage"},
    {"_core.literals"},
    {"_core.python_values"},
    {"_core.tensor"},
    {
        "_core.extension",
        "_core.tape",
        "_core.sharing",
        "_core.sparse_sums",
        "_core.swap",
        "_core.tensor_of_parts",
    },
    {"_dispatch"},
    {"random"},
    {"_ops"},
    {"autograd", "_compat.functions", "_compat.symbolic_asking"},
    {"_aten"},
    {"_decomp"},
    {
        "distributed",
        "_compat.foreach",
        "linalg",
        "fft",
        "functional",
        "special",
        "signal",
        "masked",
        "mps",
        "mtia",
        "nested",
        "overrides",
        "quasirandom",
        "return_types",
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
        "types",
        "_prims_common",
        "_compat.unsupported",
        "xpu",
        "__config__",
        "_VF",
        "_tensor",
        "_tensor_str",
        "_utils",
        "classes",
        "ops",
        "storage",
    },
    {"_jit", "_jit_internal"},
    {"_higher_order_ops.control_flow"},
    {"nn"},
    {
        "amp",
        "distributed.algorithms.model_averaging",
        "distributed.optim",
        "optim",
        "utils",
        "serialization",
        "func",
        "_functorch",
        "_vmap_internals",
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
    {"ao", "quantization"},
    {"multiprocessing._child_processes", "_subclasses"},
    {"export"},
    {"jit"},
    {
        "fx",
        "library",
        "_library",
        "multiprocessing",
        "onnx",
        "_higher_order_ops",
        "_functorch.apis",
        "_functorch.python_key",
        "_guards",
        "ao.quantization.fx",
    },
    {"compiler", "distributed.pipelining"},
    {"_dynamo", "_inductor"},
    {"accelerator", "cpu", "cuda", "backends", "backends.device_modules", "_C"},
    {"interop", "testing"},
    {"porting"},
    {"cli", "as_torch"},
]
#: Stand outside the order: they gather names from every floor.
GATHERING = {"__init__", "__main__"}
#: Hold no code, and import nothing.
EMPTY = {"_core", "_compat"}
#: One command that stands below the floor it is filed on, because programs call it first thing.
FREE = {"torchlike.porting.allocator"}
#: Files that stand as high as another room than the one they are filed in, which does not import
#: them: PyTorch has them there.
AS_HIGH_AS = {f"nn/attention/{name}.py": "accelerator" for name in
              ("block_mask", "flex_attention", "masks")}  # fmt: skip
AS_HIGH_AS["autograd/profiler.py"] = "utils"
AS_HIGH_AS["nn/utils/_per_sample_grad.py"] = "func"


def _imports(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            if node.module == "torchlike":
                yield from (f"torchlike.{alias.name}" for alias in node.names)
            elif node.module.startswith("torchlike."):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            else:
                yield node.module


def _floor(dotted):
    """The floor of a module, by the longest of its names that has one."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        head = ".".join(parts[:n])
        for i, rooms in enumerate(FLOORS):
            if head in rooms:
                return i
    return None


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_no_file_imports_torch(file):
    assert not [name for name in _imports(file) if name.split(".")[0] == "torch"]


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_rooms_import_downwards_only(file):
    path = file.relative_to(ROOT).as_posix()
    room = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if room in GATHERING or room in EMPTY:
        return
    own = _floor(AS_HIGH_AS.get(path, room))
    assert own is not None, f"{room} has no floor in FLOORS"
    for name in _imports(file):
        parts = name.split(".")
        if parts[0] != "torchlike" or len(parts) == 1 or name in FREE:
            continue
        floor = _floor(".".join(parts[1:]))
        if floor is not None:
            assert floor <= own, f"{file.name} ({room}) imports {name} from above"


#: Lines of the longest function, its docstring not counted.
LONGEST = 80


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_functions_are_short(file):
    """Of complexity ruff speaks (C901)."""
    found = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            has_docstring = ast.get_docstring(node, clean=False) is not None
            text = node.body[0] if has_docstring else None
            lines = node.end_lineno - node.lineno + 1
            lines -= 0 if text is None else text.end_lineno - text.lineno + 1
            if lines > LONGEST:
                found[node.name] = lines
    assert found == {}


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_no_file_puts_something_into_another_as_it_is_imported(file):
    """Such a late binding would be an import that runs up, hidden: a registration with a function
    of the lower room (``add_method``, ``rule``, ``register``) is the way."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }  # fmt: skip
    found = [
        f"line {target.lineno}: {ast.unparse(target)} = ..."
        for statement in _at_import(tree.body) if isinstance(statement, (ast.Assign, ast.AugAssign))
        for target in getattr(statement, "targets", [getattr(statement, "target", None)])
        if isinstance(target, ast.Attribute) and _root_name(target) in imported
    ]  # fmt: skip
    assert found == []


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


def test_importing_starts_no_backend_and_no_torch():
    code = (
        "import sys, torchlike; from jax._src import xla_bridge; "
        "assert 'torch' not in sys.modules; assert not xla_bridge._backends"
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
OURS = {
    "__init__.pyi", "__main__.py", "_aten", "_compat", "_core", "_dispatch", "_jit", "_ops",
    "_decomp", "_library", "_prims_common", "_runtime", "_vmap_internals.py", "as_torch.py",
    "cli.py", "interop", "porting", "py.typed",
}  # fmt: skip


def test_the_root_holds_pytorchs_names_and_few_of_ours():
    paths = (Path(__file__).parent / "golden" / "public_paths.txt").read_text().split()
    public = {name.split(".")[1] for name in paths} | {"__init__", "onnx", "jit"}
    found = {p.name for p in ROOT.iterdir() if p.name != "__pycache__"}
    others = {n for n in found if n.partition(".")[0] not in public}
    assert others <= OURS, "PyTorch has no such name: put it into a room whose name begins with _"
