"""The examples in docstrings run, and functions that PyTorch does not have say what they take."""

import ast
import doctest
import importlib
import inspect
import json
import re
import textwrap
from pathlib import Path

import pytest

import torchlike
from torchlike._compat.help import signatures
from torchlike._core.dispatch.registry import NAMESPACES

PACKAGE = Path(torchlike.__file__).parent
FLAGS = doctest.ELLIPSIS
#: Packages that an example needs whose code has these words.
NEEDS = {
    "check_against_torch": "torch",
    "Orbax": "orbax.checkpoint",
    "interop.orbax": "orbax.checkpoint",
    "interop.flax": "flax",
    "import chex": "chex",
    "v5e:": "libtpu",
}
#: Of these examples take a second, as do those that start processes.
HEAVY = {"chex", "flax", "flax.linen", "hypothesis", "libtpu", "optax", "orbax.checkpoint", "torch"}
SLOW = {"save_stablehlo", "to_jax"}
#: What PyTorch does not have.
OURS = [
    "Tensor.jax",
    "jit.jit",
    "jit.set_fallback",
    "jit.set_mode",
    "jit.set_warmup",
    "jit.explain",
    "jit.Entry",
    "jit.Explanation",
    "jit.JitFunction",
    "jit.JitFunction.reset",
    "jit.JitCaptureError",
    "jit.CapturedProgram",
    "jit.bucket_of",
    "jit.pad_to_bucket",
    "jit.scan_layers",
    "from_jax",
    "from_jax_function",
    "to_jax_function",
    "install_alias",
    "alias",
    "tune_allocator",
    "bench",
    "plan",
    "porting.plan.device_mesh",
    "porting.plan.planning.Plan",
    "porting.plan.planning.Plan.as_dict",
    "porting.plan.planning.Plan.to_json",
    "porting.plan.leaves.Leaf",
    "porting.plan.leaves.default_rule",
    "interop.arrays",
    "interop.from_jax_function",
    "interop.to_jax_function",
    "interop.flax.LinenModule",
    "interop.flax.LinenModule.to_flax",
    "interop.flax.NNXModule",
    "interop.flax.NNXModule.to_flax",
    "interop.flax.TorchlikeModule",
    "interop.flax.TorchlikeModule.to_torchlike",
    "interop.flax.from_linen",
    "interop.flax.from_nnx",
    "interop.flax.to_nnx",
    "interop.orbax.Checkpoints",
    "interop.orbax.Checkpoints.save",
    "interop.orbax.Checkpoints.restore",
    "interop.orbax.Checkpoints.steps",
    "testing.Variant",
    "testing.variants",
    "testing.assert_aliases",
    "testing.assert_draws_anew",
    "testing.assert_finite",
    "testing.assert_gradients",
    "testing.assert_matches_eager",
    "testing.assert_no_recompile",
    "testing.check_against_torch",
    "testing.chex.assert_max_traces",
    "testing.chex.everywhere",
    "testing.chex.variants",
    "testing.strategies.ModuleCase",
    "testing.strategies.InPlaceProgram",
    "testing.strategies.dtypes",
    "testing.strategies.indices",
    "testing.strategies.module_case",
    "testing.strategies.modules",
    "testing.strategies.programs",
    "testing.strategies.shapes",
    "testing.strategies.tensors",
    "compiler.get_first_calls",
    "compiler.set_first_calls",
    "compiler.report",
    "export.JaxProgram",
    "export.to_jax",
    "export.save_stablehlo",
    "export.Unexportable",
    "distributed.ShardedLoader",
    "distributed.checkpoint.OrbaxStorageReader",
    "distributed.checkpoint.OrbaxStorageWriter",
    "autograd.set_strict_in_place",
    "autograd.is_strict_in_place",
    "optim.Optax",
    "optim.Optax.step",
    "optim.to_optax",
    "optim.Optimizer.loss_of",
    "optim.Optimizer.with_gradients",
    "serialization.load_safetensors",
    "serialization.save_safetensors",
    "profiler.profile.save",
]
#: Classes whose objects functions give, or errors.
GIVEN = {
    "interop.flax.LinenModule",
    "interop.flax.NNXModule",
    "interop.flax.TorchlikeModule",
    "jit.JitCaptureError",
    "jit.JitFunction",
    "jit.CapturedProgram",
    "export.JaxProgram",
    "porting.plan.planning.Plan",
    "jit.Entry",
    "jit.Explanation",
    "porting.plan.leaves.Leaf",
    "testing.strategies.ModuleCase",
}


def _docstrings(node, path):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            name = f"{path}.{child.name}" if "::" in path else f"{path}::{child.name}"
            yield name, child.lineno, ast.get_docstring(child) or ""
            yield from _docstrings(child, name)


def examples():
    """Return every example by its name: of docstrings, and of texts that are made for a family of
    functions, which the registry has."""
    found, texts = {}, set()
    parser = doctest.DocTestParser()
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_text("utf-8")
        if ">>> " not in text:
            continue
        for name, line, doc in _docstrings(ast.parse(text), str(file.relative_to(PACKAGE))):
            if ">>> " in doc:
                found[name] = parser.get_doctest(doc, {}, name, str(file), line)
                texts.add(doc)
    for space, functions in NAMESPACES.items():
        for key, function in functions.items():
            if not inspect.isfunction(function):
                continue
            doc = signatures.of(function).doc
            if ">>> " in doc and doc not in texts:
                texts.add(doc)
                name = f"{space or 'torch'}.{key}"
                found[name] = parser.get_doctest(doc, {}, name, None, 0)
    for name, text in MADE.items():
        found[f"made::{name}"] = parser.get_doctest(text, {}, name, None, 0)
    return found


#: What `python -m tools.examples` wrote: of these a tenth runs each time.
MADE = json.loads((PACKAGE / "_compat/help/examples.json").read_text("utf-8"))
EXAMPLES = examples()


def _needed(example):
    """Return the packages that an example imports or needs."""
    code = "".join(part.source for part in example.examples)
    nodes = list(ast.walk(ast.parse(code)))
    found = {n.module for n in nodes if isinstance(n, ast.ImportFrom)}
    found |= {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    return found | {package for words, package in NEEDS.items() if words in code}


def _marked(name):
    if name.startswith("made::"):
        is_sampled = list(MADE).index(name.removeprefix("made::")) % 10 == 0
        return pytest.param(name, marks=() if is_sampled else pytest.mark.exhaustive)
    slow = _needed(EXAMPLES[name]) & (HEAVY | {"subprocess"}) or _last(name) in SLOW
    return pytest.param(name, marks=pytest.mark.exhaustive if slow else ())


def _last(name):
    return name.rpartition("::")[2]


@pytest.mark.parametrize("name", [_marked(name) for name in EXAMPLES])
def test_example_runs(name, tmp_path, monkeypatch):
    example = EXAMPLES[name]
    for package in sorted(_needed(example)):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    example.globs = {"torch": torchlike, "torchlike": torchlike, "__name__": "__main__"}
    said = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    with torchlike.random.fork_rng():
        torchlike.manual_seed(0)
        failed = runner.run(example, out=said.append).failed
    assert not failed, "".join(said)


def test_examples_are_found():
    assert len(EXAMPLES) > 150
    assert {"jit", "Linear", "torch.zeros"} <= set(map(_last, EXAMPLES))


def _found(name):
    """Return what has a name; skip where the package is missing that it is for."""
    found = torchlike
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(f"{found.__name__}.{part}")
        except ImportError as error:
            pytest.skip(str(error))
    return found


def _raises(function):
    """Return whether a function itself has a ``raise`` that names an error."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    inner = {
        id(n)
        for f in ast.walk(tree)
        if isinstance(f, (ast.FunctionDef, ast.Lambda)) and f is not tree
        for n in ast.walk(f)
    }
    return any(
        isinstance(n, ast.Raise) and n.exc is not None and id(n) not in inner
        for n in ast.walk(tree)
    )


def _missing(owner, is_made=True):
    """Return the parts that the docstring of a function or class lacks."""
    doc = inspect.getdoc(owner) or ""
    parts = [] if "." in owner.__qualname__ else [">>> "]
    call = owner if not inspect.isclass(owner) else vars(owner).get("__init__")
    if is_made and call is not None:
        signature = inspect.signature(call)
        if any(name != "self" for name in signature.parameters):
            parts.append("Args:")
        if call is owner and signature.return_annotation not in ("None", None, signature.empty):
            parts.append("Returns:")
        if _raises(call):
            parts.append("Raises:")
    return [part for part in parts if part not in doc]


def _own(name):
    slow = re.search("flax|orbax|chex|strategies", name)  # their packages' import
    return pytest.param(name, marks=pytest.mark.exhaustive if slow else ())


@pytest.mark.parametrize("name", [_own(name) for name in OURS])
def test_own_function_says_what_it_takes(name):
    """``Args:``, ``Returns:`` and ``Raises:`` where it has such, and an example (a method's is its
    class's)."""
    assert _missing(_found(name), name not in GIVEN) == []


def _undocumented(x) -> "int":
    if x:
        raise ValueError
    return 1


def test_what_lacks_is_found():
    assert _missing(_undocumented) == [">>> ", "Args:", "Returns:", "Raises:"]
