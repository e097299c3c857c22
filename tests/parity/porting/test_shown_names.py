"""Where `import torch` means torchlike, functions say the module that PyTorch's own say."""

import json
import subprocess
import sys
import types

import pytest

torch = pytest.importorskip("torch")

#: In a process of its own: {module: {name: [what it says, whether pickles find it there]}} of all
#: functions among the names that stdin asks for.
ASK = """
import functools, importlib, json, pickle, sys, types, warnings
warnings.simplefilter("ignore")
import torchlike
torchlike.install_alias()
kinds = types.FunctionType, functools._lru_cache_wrapper
def found_again(f):
    try:
        return pickle.loads(pickle.dumps(f)) is f
    except (pickle.PicklingError, AttributeError):
        return False
told = {}
for module, names in json.load(sys.stdin).items():
    try:
        there = importlib.import_module(module)
    except ImportError:
        continue
    found = {n: getattr(there, n, None) for n in names}
    told[module] = {
        n: [f.__module__, found_again(f)] for n, f in found.items() if isinstance(f, kinds)
    }
json.dump(told, sys.stdout)
"""
#: Places at which PyTorch's compiled functions have other names, such as special_erf: the public
#: module is said.
COMPILED = {
    "torch._C",
    "torch._C._fft",
    "torch._C._linalg",
    "torch._C._nested",
    "torch._C._nn",
    "torch._C._special",
}
#: Functions whose file at PyTorch's torchlike has not got, or has for something else.
ELSEWHERE = {
    "get_ctx": "torch._subclasses.fake_context",  # beside what it returns
    "argument_validation": "torch.utils.data",
    "bilinear": "torch.nn.functional",
    "compile": "torch.compiler",
    "has_torch_function": "torch.overrides",
    "has_torch_function_unary": "torch.overrides",
    "has_torch_function_variadic": "torch.overrides",
    "istft": "torch.functional",
    "lobpcg": "torch",
    "pca_lowrank": "torch.functional",
    "runtime_validation": "torch.utils.data",
    "set_printoptions": "torch",
    "svd_lowrank": "torch.functional",
}
#: Modules of which each function's is compared.
COMPARED = (
    "torch",
    "torch.autograd",
    "torch.fft",
    "torch.func",
    "torch.functional",
    "torch.fx",
    "torch.library",
    "torch.linalg",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.serialization",
    "torch.special",
    "torch.utils.data",
)


def public_functions():
    """Return the names of PyTorch's public functions by module, with the modules that they say."""
    listed = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "torch" or "._" in name:
            continue
        listed[name] = {
            n: getattr(f, "__module__", None)
            for n, f in list(vars(module).items())
            if not n.startswith("_")
            and type(f) in (types.FunctionType, types.BuiltinFunctionType)
            and n in getattr(module, "__all__", (n,))
        }
    return listed


@pytest.fixture(scope="module")
def said():
    theirs = public_functions()
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps({module: list(names) for module, names in theirs.items()}),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return theirs, json.loads(done.stdout)


def test_no_public_function_says_torchlike(said):
    ours = {f"{m}.{n}": told[0] for m, names in said[1].items() for n, told in names.items()}
    assert len(ours) > 1200
    assert not [n for n, place in ours.items() if place.partition(".")[0] == "torchlike"]


@pytest.mark.parametrize("module", COMPARED)
def test_functions_say_what_pytorchs_say(module, said):
    theirs, ours = (table[module] for table in said)
    assert len(ours) > 3
    other = {
        name: place
        for name, (place, _) in ours.items()
        if place != theirs[name] and not (theirs[name] in COMPILED and place == module)
    }
    assert other == {n: place for n, place in ELSEWHERE.items() if n in other}


@pytest.mark.parametrize("module", COMPARED)
def test_pickles_find_functions_by_what_they_say(module, said):
    assert [name for name, (_, is_found) in said[1][module].items() if not is_found] == []
