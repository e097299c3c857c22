"""Each thing that the package changes in its process is declared once, and most can be undone."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import torchlike
from torchlike._runtime import patches
from torchlike._runtime.patches.registry import Patch

PACKAGE = Path(torchlike.__file__).parent

#: Modules whose attributes are the process', and functions that act on it.
FOREIGN = {"sys", "os", "builtins", "threading", "signal", "gc", "warnings", "subprocess", "jax"}
CALLS = {
    "atexit.register",
    "faulthandler.enable",
    "gc.disable",
    "gc.freeze",
    "gc.set_threshold",
    "gc.unfreeze",
    "jax.config.update",
    "config.update",
    "_config.update",
    "jax.tree_util.register_pytree_node",
    "monitoring.register_event_duration_secs_listener",
    "os.environ.clear",
    "os.environ.pop",
    "os.environ.setdefault",
    "os.environ.update",
    "os.putenv",
    "os.register_at_fork",
    "signal.set_wakeup_fd",
    "signal.signal",
    "sys.addaudithook",
    "sys.meta_path.append",
    "sys.meta_path.insert",
    "sys.modules.pop",
    "sys.modules.setdefault",
    "sys.path.append",
    "sys.path.insert",
    "sys.path.extend",
    "sys.setprofile",
    "sys.setrecursionlimit",
    "sys.setswitchinterval",
    "sys.settrace",
    "threading.setprofile",
    "threading.settrace",
    "tree_util.register_pytree_node_class",
    "util.register_after_fork",
    "warnings.filterwarnings",
}
#: Changes that are no patch, and why.
ALLOWED = {
    "_dynamo/__init__.py": "warnings are silent within a with block",
    "porting/scan/neighbours.py": "the same",
    "porting/cli.py": "the variable of the release that a command was told to follow",
    "porting/bench/timing.py": "the collector waits while a block is timed",
    "porting/plan/command.py": "tqdm draws no bar within a with block",
}


#: What a file's text has in it whose code may change something: parsing a thousand files takes 3 s.
_WORDS = re.compile(
    "|".join(
        [*map(re.escape, CALLS), "__code__"]
        + [rf"\b(?:{'|'.join(sorted(FOREIGN))})[.\[][^\n]*=(?!=)"]
        + [rf"\bdel\b.*\b(?:{'|'.join(sorted(FOREIGN))})\b"]
    )
)


def changes_in(text):
    """What a file's code changes in the process: lines and names."""
    if not _WORDS.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        targets = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        elif isinstance(node, ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS:
            yield node.lineno, ast.unparse(node.func)
        flat = [t for target in targets for t in getattr(target, "elts", [target])]
        for target in flat:
            if (
                isinstance(target, (ast.Attribute, ast.Subscript)) and _root(target) in FOREIGN
            ) or (isinstance(target, ast.Attribute) and target.attr == "__code__"):
                yield target.lineno, ast.unparse(target)


def _root(node):
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _declared():
    return {file for patch in patches.PATCHES.values() for file in patch.files}


def test_each_change_of_the_process_is_declared():
    declared = _declared() | set(ALLOWED)
    found = [
        (path, line, what)
        for file in sorted(PACKAGE.rglob("*.py"))
        if (path := str(file.relative_to(PACKAGE))) not in declared
        and not path.startswith(("_runtime/patches/", "_runtime/jax_private/"))
        for line, what in changes_in(file.read_text("utf-8"))
    ]
    assert found == [], "declare it in torchlike/_runtime/patches"


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.excepthook = f",
        "import os\nos.environ['A'] = 'b'",
        "import os\nos.environ.setdefault('A', 'b')",
        "import builtins\nold, builtins.print = builtins.print, f",
        "import atexit\natexit.register(f)",
        "import sys\nsys.meta_path.insert(0, f)",
        "import sys\nsys.modules['torch'] = f",
        "f.__code__ = g.__code__",
        "import jax\njax.config.update('jax_enable_x64', True)",
        "import os\ndel os.environ['A']",
    ],
)
def test_it_would_be_seen(code):
    assert list(changes_in(code))


def test_each_declaration_says_all_and_its_files_exist():
    for patch in patches.PATCHES.values():
        assert all((patch.changes, patch.when, patch.why)), patch.name
        for file in patch.files:
            root = PACKAGE.parent if file.startswith("torchlike_command") else PACKAGE
            assert (root / file).is_file(), (patch.name, file)
        assert patch.seen or "`jax" not in patch.changes, f"{patch.name}: tried with which JAX?"


# -- a patch ---------------------------------------------------------------------------------------


@pytest.fixture
def patch():
    return Patch("trial", "a trial", when="in tests", why="to see", files=())


def test_an_attribute_comes_back(patch):
    owner = SimpleNamespace(a=1)
    patch.replace(owner, "a", 2)
    patch.replace(owner, "b", 3)
    assert vars(owner) == {"a": 2, "b": 3}
    assert patch.is_applied
    assert patch.undo()
    assert vars(owner) == {"a": 1}
    assert not patch.is_applied
    assert not patch.undo()


def test_what_somebody_else_has_replaced_is_told(patch):
    owner = SimpleNamespace(a=1)
    patch.replace(owner, "a", 2)
    owner.a = 3
    with pytest.raises(RuntimeError, match="something else has replaced a since"):
        patch.undo()
    assert patch.is_applied
    patch.restore()
    assert owner.a == 3
    assert not patch.is_applied


def test_variables_lists_and_options_come_back(patch):
    variables, items = {"A": "1"}, ["x"]
    patch.set_item(variables, "A", "2")
    patch.set_item(variables, "B", "3")
    patch.insert(items, "y")
    options = SimpleNamespace(a=1)
    options.update = lambda name, value: setattr(options, name, value)
    patch.set_option(options, "a", 2)
    assert (variables, items, options.a) == ({"A": "2", "B": "3"}, ["y", "x"], 2)
    patch.undo()
    assert (variables, items, options.a) == ({"A": "1"}, ["x"], 1)


def test_an_attribute_for_a_block(patch):
    owner = SimpleNamespace(a=1)

    def run():
        with patch.replacing(owner, "a", 2):
            assert owner.a == 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert owner.a == 1


def test_a_permanent_one_says_why():
    lasting = Patch(
        "trial", "a trial", when="in tests", why="to see", files=(), permanent="nobody can"
    )
    lasting.note()
    with pytest.raises(RuntimeError, match="'trial' cannot be undone: nobody can"):
        lasting.undo()


def test_an_unknown_name():
    with pytest.raises(KeyError, match=r"No patch is named 'nothing'; there are .*x64"):
        patches.undo("nothing")


AT_IMPORT = """
import atexit, os, sys, threading, warnings
before = sys.excepthook, threading.excepthook, sys.unraisablehook, dict(os.environ)
import jax, numpy
from jax._src import compilation_cache
from jax._src.interpreters import mlir
of_jax = mlir.make_ir_context, mlir.lower_jaxpr_to_module, compilation_cache.LRUCache
options = "jax_enable_x64", "jax_compilation_cache_dir", "jax_platforms"
values = [getattr(jax.config, name) for name in options]
import torchlike as torch
from torchlike._runtime import patches
assert sys.excepthook is not before[0] and mlir.make_ir_context is not of_jax[0]
assert jax.config.jax_enable_x64
applied = {name for name, p in patches.PATCHES.items() if p.is_applied}
assert {"excepthooks", "x64", "mlir-contexts", "known-nans", "unraisablehook"} <= applied, applied
for name in applied:
    if not patches.PATCHES[name].permanent:
        assert patches.undo(name), name
assert before[:3] == (sys.excepthook, threading.excepthook, sys.unraisablehook)
assert before[3] == dict(os.environ), set(before[3].items()) ^ set(os.environ.items())
assert of_jax == (mlir.make_ir_context, mlir.lower_jaxpr_to_module, compilation_cache.LRUCache)
assert values == [getattr(jax.config, name) for name in options]
assert jax.numpy.ones(3).dtype == "float32"
try:
    torch.ones(3, dtype=torch.int64) + 1
except RuntimeError as error:
    assert "64-bit" in str(error)
with jax.enable_x64(True):
    assert (torch.ones(3) + 1).tolist() == [2.0] * 3
print("all undone")
"""


def test_what_importing_changes_is_undone(tmp_path):
    environment = dict(os.environ, TORCHLIKE_CACHE_DIR=str(tmp_path), JAX_PLATFORMS="cpu")
    for name in ("OPENBLAS_THREAD_TIMEOUT", "PJRT_NPROC", "JAX_ENABLE_X64"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", AT_IMPORT],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all undone\n"
