"""The package as a whole: no PyTorch inside, rooms that only import downwards, nothing eager."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike

ROOT = Path(torchlike.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

#: The house from the ground up; a room may import itself and rooms on lower or equal floors.
FLOORS = [
    {
        "__future__",
        "determinism",
        "errors",
        "futures",
        "homes",
        "inlining",
        "known_nans",
        "lazy",
        "logs",
        "mlir_contexts",
        "modes",
        "pending",
        "printing",
        "compilation_cache",
        "environment_variables",
        "layouts",
        "size",
        "symbolic",
        "targets",
        "tracebacks",
        "trees",
        "x64",
        "xla_flags",
    },
    {
        "dtypes",
        "absent_dtypes",
        "casts",
        "memory_size",
        "devices",
        "first_calls",
        "meta",
        "methods",
        "sparse_array",
        "boxes",
        "streams",
        "tree_leaf",
        "version",
        "torch_version",
        "transfer",
        "profiler",
    },
    {"addresses"},
    {"storage", "views"},
    {"untyped_storage"},
    {"literals"},
    {"python_values"},
    {"tensor"},
    {"tape", "sharing", "sparse_sums", "swap"},
    {"dispatch"},
    {"random"},
    {"ops"},
    {"autograd", "functions"},
    {
        "distributed",
        "foreach",
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
        "settings",
        "sparse_names",
        "sparse_rules",
        "sparse_tensor",
        "sparse_types",
        "storage_types",
        "tensor_types",
        "typed_storage",
        "types",
        "unsupported",
        "xpu",
        "__config__",
        "_subclasses",
        "_tensor_str",
    },
    {"jit", "_jit_internal"},
    {"control_flow"},
    {"compiler"},
    {"nn"},
    {"amp", "optim", "utils", "serialization", "func", "distributions", "hub", "optimized_module"},
    {"child_processes"},
    {"compile", "export", "fx", "library", "multiprocessing", "onnx", "_higher_order_ops"},
    {"_dynamo", "_inductor"},
    {"accelerator", "cpu", "cuda", "backends", "device_modules", "_C"},
    {"interop", "testing"},
    {"porting"},
    {"cli", "as_torch"},
]
#: Stand outside the order: they gather names from every floor.
GATHERING = {"__init__", "__main__"}
#: One command that stands below the floor it is filed on, because programs call it first thing.
FREE = {"torchlike.porting.allocator"}
#: Files that stand as high as another room than the one they are filed in, which does not import
#: them: PyTorch has them there.
AS_HIGH_AS = {f"nn/attention/{name}.py": "accelerator" for name in
              ("block_mask", "flex_attention", "masks")}  # fmt: skip
AS_HIGH_AS["autograd/profiler.py"] = "utils"


def _imports(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            if node.module == "torchlike":
                yield from (f"torchlike.{alias.name}" for alias in node.names)
            else:
                yield node.module


def _floor(room):
    return next((i for i, rooms in enumerate(FLOORS) if room in rooms), None)


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_no_file_imports_torch(file):
    assert not [name for name in _imports(file) if name.split(".")[0] == "torch"]


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_rooms_import_downwards_only(file):
    room = file.relative_to(ROOT).parts[0].removesuffix(".py")
    if room in GATHERING:
        return
    own = _floor(AS_HIGH_AS.get(file.relative_to(ROOT).as_posix(), room))
    assert own is not None, f"{room} has no floor in FLOORS"
    for name in _imports(file):
        parts = name.split(".")
        if parts[0] != "torchlike" or len(parts) == 1 or name in FREE:
            continue
        floor = _floor(parts[1])
        if floor is not None:
            assert floor <= own, f"{file.name} ({room}) imports {name} from above"


def test_importing_starts_no_backend_and_no_torch():
    code = (
        "import sys, torchlike; from jax._src import xla_bridge; "
        "assert 'torch' not in sys.modules; assert not xla_bridge._backends"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ})
