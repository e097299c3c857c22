"""Where the package makes code or imports of text, unpickles, or walks attributes by names.

Each place has its reason. A new one fails here until it has its own, and none of them may take text
of a file that is promised to run nothing (SECURITY.md).
"""

import ast
from collections import Counter
from pathlib import Path

import pytest

import torchlike

PACKAGE = Path(torchlike.__file__).parent
OWN = "names in the package's own source"
GRAPH = "paths of a graph's nodes; those of a file are checked by export/targets.py before"
WORKER = "between a process and workers that it started, over a socket without a name"
SCRIPT = "runs the script that the user gave to the command"

#: (file, what) -> how often, and why it may.
PLACES = {
    ("__init__.py", "import_module"): (1, OWN),
    ("_compat/unsupported.py", "import_module"): (1, OWN),
    ("_core/dispatch/schema.py", "eval"): (
        1,
        "annotations of functions that this process has defined",
    ),
    ("_jit/program/generated_call.py", "exec"): (1, "guards, made of what was captured here"),
    ("_jit/call/function.py", "getattr walk"): (1, "the __qualname__ of a function, where it lies"),
    ("_ops/aten/custom.py", "import_module"): (2, "closed tables: _OWN and _WRITTEN"),
    ("_runtime/jax_private/names.py", "import_module"): (2, OWN),
    ("_runtime/first_calls/interpreter.py", "exec"): (1, "a plan of a jaxpr, of numbers alone"),
    ("_runtime/lazy.py", "import_module"): (2, OWN),
    ("serialization/stablehlo/artifact.py", "deserialize"): (
        1,
        "of files: serialization/stablehlo/safety.py checks each",
    ),
    ("_utils.py", "getattr walk"): (1, "a name that the caller gives; no reader calls it"),
    ("_utils.py", "import_module"): (1, "a name that the caller gives; no reader calls it"),
    ("distributed/objects.py", "pickle.loads"): (
        2,
        "object collectives, as PyTorch's, run pickles of the other ranks: SECURITY.md says so",
    ),
    ("distributions/utils.py", "attrgetter"): (1, OWN),
    ("fx/experimental/proxy_tensor.py", "eval"): (1, "arg0, arg1 …: a count, no text"),
    ("fx/graph.py", "getattr walk"): (2, GRAPH),
    ("fx/graph_module.py", "exec"): (
        2,
        "the source of a graph, whose names are identifiers; and "
        "imports of a GraphModule's pickle, which runs code as "
        "every pickle does and is not on the weights_only list",
    ),
    ("fx/graph_module.py", "getattr walk"): (2, GRAPH),
    ("fx/interpreter.py", "getattr walk"): (1, GRAPH),
    ("fx/passes/split_module.py", "getattr walk"): (1, GRAPH),
    ("fx/passes/split_utils.py", "getattr walk"): (2, GRAPH),
    ("fx/passes/utils/matcher_utils.py", "getattr walk"): (1, GRAPH),
    ("fx/subgraph_rewriter.py", "getattr walk"): (2, GRAPH),
    ("hub.py", "spec_from_file_location"): (1, "hub runs hubconf.py: that is what it is for"),
    ("interop/flax/variables.py", "getattr walk"): (1, "paths of a module that the caller holds"),
    ("multiprocessing/spawn.py", "pickle.loads"): (1, WORKER),
    ("nn/modules/module.py", "getattr walk"): (
        1,
        "get_submodule of the caller's path: each part has to be a module",
    ),
    ("porting/aliases.py", "import_module"): (2, "names of the alias torch that a script imports"),
    ("porting/at_start/on_demand.py", "spec_from_file_location"): (2, "files of the package"),
    ("porting/at_start/sitecustomize.py", "__import__"): (1, "a constant name: the next one"),
    ("porting/at_start/sitecustomize.py", "spec_from_file_location"): (1, "a file of the package"),
    ("porting/plan/modules.py", "exec"): (1, "plan runs modules of the script: SECURITY.md"),
    ("porting/scan/package.py", "import_module"): (
        1,
        "modules of torchlike, less those that act when they are imported",
    ),
    ("porting/script.py", "exec"): (1, SCRIPT),
    ("porting/script.py", "import_module"): (1, SCRIPT),
    ("serialization/load.py", "Unpickler"): (1, "weights_only=False, which runs code"),
    ("testing/__init__.py", "import_module"): (1, OWN),
    ("testing/against_torch.py", "import_module"): (1, "modules of PyTorch, by objects' own"),
    ("testing/strategies/programs.py", "exec"): (1, "a program that hypothesis made here"),
    ("utils/data/processes/by_value.py", "getattr walk"): (1, "the __qualname__ of a class here"),
    ("utils/data/processes/by_value.py", "import_module"): (2, WORKER),
    ("utils/data/processes/by_value.py", "marshal.loads"): (1, WORKER),
    ("utils/data/processes/messages.py", "pickle.loads"): (2, WORKER),
    ("utils/data/processes/server.py", "import_module"): (1, WORKER),
    ("utils/data/processes/server.py", "pickle.loads"): (1, WORKER),
    ("utils/data/processes/worker_pool.py", "pickle.loads"): (1, WORKER),
}

_CALLS = (
    "import_module",
    "spec_from_file_location",
    "run_path",
    "run_module",
    "resolve_name",
    "deserialize",
    "attrgetter",
    "methodcaller",
)
_PICKLES = ("pickle", "marshal", "dill", "cloudpickle", "shelve")


def called(node: ast.Call) -> str | None:
    """What kind of place a call is; None for most."""
    function = node.func
    if isinstance(function, ast.Name):
        if function.id in ("exec", "eval", "__import__") or function.id in _CALLS:
            return function.id
        walks = function.id == "reduce" and _is_named(node.args[0], "getattr")
        return "getattr walk" if walks else None
    if not isinstance(function, ast.Attribute):
        return None
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if owner in _PICKLES and function.attr in ("load", "loads", "Unpickler", "open"):
        return f"{owner}.{function.attr}"
    if function.attr == "reduce" and node.args and _is_named(node.args[0], "getattr"):
        return "getattr walk"
    constant = function.attr == "import_module" and isinstance(node.args[0], ast.Constant)
    return function.attr if function.attr in _CALLS and not constant else None


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_walk(node: ast.AST) -> bool:
    """``x = getattr(x, part)``: an attribute of an attribute, by names."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and _is_named(node.value.func, "getattr")
        and isinstance(node.value.args[0], ast.Name)
        and _is_named(node.targets[0], node.value.args[0].id)
        and not isinstance(node.value.args[1], ast.Constant)
    )


def places(source: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (kind := called(node)):
            found[kind] += 1
        found["getattr walk"] += is_walk(node)
        if isinstance(node, ast.ClassDef):
            bases = [b.attr for b in node.bases if isinstance(b, ast.Attribute)]
            found["Unpickler"] += "Unpickler" in bases
    return +found


@pytest.mark.exhaustive
def test_every_place_where_text_becomes_code_has_its_reason():
    found = {
        (str(path.relative_to(PACKAGE)), kind): count
        for path in PACKAGE.rglob("*.py")
        for kind, count in places(path.read_text("utf-8")).items()
    }
    assert found == {place: count for place, (count, _) in PLACES.items()}
    assert all(reason.strip() for _, reason in PLACES.values())


def test_the_search_finds_each_kind():
    source = (
        "exec(a)\neval(b)\n__import__(c)\nimportlib.import_module(d)\npickle.loads(e)\n"
        "for p in path:\n    x = getattr(x, p)\nfunctools.reduce(getattr, path, x)\n"
        "operator.attrgetter(path)\nclass Reader(pickle.Unpickler): pass\nmarshal.load(f)\n"
    )
    assert places(source) == {
        "exec": 1,
        "eval": 1,
        "__import__": 1,
        "import_module": 1,
        "pickle.loads": 1,
        "getattr walk": 2,
        "attrgetter": 1,
        "Unpickler": 1,
        "marshal.load": 1,
    }


def test_no_reader_of_files_is_among_them():
    """The rooms that read files which are promised to run nothing."""
    readers = [
        place
        for place, _ in PLACES
        if place.startswith(("serialization/", "export/", "utils/treespec", "onnx/"))
    ]
    assert sorted(readers) == ["serialization/load.py", "serialization/stablehlo/artifact.py"]
