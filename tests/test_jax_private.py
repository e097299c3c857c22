"""What JAX promises to nobody is named in one folder, and each name is there or declared absent."""

import ast
import functools
import importlib
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import torchlike
from torchlike._runtime.jax_private import (
    arrays,
    backends,
    equations,
    jaxprs,
    kernels,
    names,
    primitives,
    tracing,
)

PACKAGE = Path(torchlike.__file__).parent
COMMAND = PACKAGE.parent / "torchlike_command"
ROOM = PACKAGE / "_runtime" / "jax_private"
for _path in sorted(ROOM.glob("[a-z]*.py")):  # so that each has declared its names
    importlib.import_module(f"torchlike._runtime.jax_private.{_path.stem}")

#: Modules that JAX promises to nobody, by how their names begin.
MODULES = ("jax._src", "jax.interpreters", "jax.extend", "jaxlib._", "jaxlib.mlir", "jaxlib.xla")
#: What else the package takes of `jax.core`, which promises little, and of jaxlib.
OF_CORE = {"Tracer", "ShapedArray", "eval_jaxpr"}
#: Attributes of JAX's objects, and names of its private modules.
ATTRIBUTES = {
    "_DimExpr",
    "_backends",
    "_cache_miss",
    "_committed",
    "_geq_decision",
    "_get_vars",
    "_jit_info",
    "backends_are_initialized",
    "batched_device_put",
    "convert_element_type_p",
    "dce_jaxpr",
    "extend_axis_env_nd",
    "full_lower",
    "get_bind_params",
    "get_distributed_runtime_client",
    "get_distributed_runtime_service",
    "global_state",
    "in_tracers",
    "lower_jaxpr_to_module",
    "make_ir_context",
    "primitive_batchers",
    "primitive_jvps",
    "register_lowering",
    "trace_to_jaxpr_dynamic",
}
#: Where such a thing stands elsewhere, and why.
ELSEWHERE = {
    (
        "serialization/stablehlo/parsing.py",
        "jaxlib.mlir",
    ): "a process without torchlike or JAX, for files from "
    "strangers: it ends with UNABLE where jaxlib lacks them",
}


#: What a file's text has in it whose code may say such a name: parsing a thousand files takes 4 s.
_WORDS = re.compile(
    "|".join(
        [*map(re.escape, MODULES), "jax.core", *ATTRIBUTES, "_skip_checks"]
        + [r"from jax import (?:.|\n)*\b(?:core|_src|interpreters|extend)\b"]
        + [r"from jaxlib import (?:.|\n)*\b(?:_|mlir|xla)"]
    )
)


def found_in(text):
    """The private names that a file's code says, and their lines; docstrings do not count."""
    if not _WORDS.search(text):
        return
    tree = ast.parse(text)
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    core = {
        a.asname or a.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "jax"
        for a in node.names
        if a.name == "core"
    }
    for node in ast.walk(tree):
        if id(node) not in documentation:
            for name in _names_of(node, core):
                yield getattr(node, "lineno", 0), name


def _names_of(node, core):
    match node:
        case ast.Import():
            yield from (a.name for a in node.names if a.name.startswith(MODULES))
        case ast.ImportFrom(module=str(module), level=0):
            whole = [f"{module}.{a.name}" for a in node.names]
            yield from (name for name in whole if name.startswith(MODULES))
            if module == "jax.core":
                yield from (f"jax.core.{a.name}" for a in node.names if a.name not in OF_CORE)
        case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if owner in core:
            if attribute not in OF_CORE:
                yield f"jax.core.{attribute}"
        case ast.Attribute(attr=attribute) if attribute in ATTRIBUTES:
            yield attribute
        case ast.keyword(arg="_skip_checks"):
            yield "_skip_checks"
        case ast.Constant(value=str(text)) if text.startswith(MODULES) or text in ATTRIBUTES:
            yield text


@functools.cache
def _everywhere():
    paths = [p for root in (PACKAGE, COMMAND) for p in root.rglob("*.py")]
    return {
        (str(p.relative_to(PACKAGE if PACKAGE in p.parents else COMMAND.parent)), line, name)
        for p in paths
        if ROOM not in p.parents
        for line, name in found_in(p.read_text("utf-8"))
    }


#: Declarations in words: what is replaced may be named where that is said.
DECLARED_IN = ("_runtime/patches/",)


def test_private_names_stand_in_one_folder():
    allowed = set(ELSEWHERE)
    wrong = [
        (path, line, name)
        for path, line, name in sorted(_everywhere())
        if not path.startswith(DECLARED_IN)
        and not any(path == where and name.startswith(start) for where, start in allowed)
    ]
    assert wrong == [], "reach it through torchlike/_runtime/jax_private"


def test_each_exception_is_still_one():
    found = {(path, name) for path, _, name in _everywhere()}
    for path, start in ELSEWHERE:
        assert any(p == path and n.startswith(start) for p, n in found), path


@pytest.mark.parametrize(
    "code",
    [
        "from jax._src import core",
        "import jax._src.core as c",
        "from jax._src.core import Literal",
        "from jax.interpreters import mlir",
        "from jax import (\n    lax,\n    interpreters,\n)",
        "from jaxlib import _jax",
        "from jax.extend.core import Jaxpr",
        "import importlib; importlib.import_module('jaxlib._jax')",
        "f._cache_miss()",
        "getattr(f, '_committed')",
        "from jax import core\ncore.Jaxpr",
        "from jax.core import Primitive",
        "f(_skip_checks=True)",
        "def f():\n    x = 'jax._src.core'",
    ],
)
def test_it_would_be_seen(code):
    assert list(found_in(code))


def test_docstrings_and_public_names_are_not():
    code = '"""jax._src"""\nimport jax\nfrom jax import core\ncore.Tracer\ndef f():\n    "jax._src"'
    assert list(found_in(code)) == []


# -- declarations ----------------------------------------------------------------------------------


def test_each_name_that_can_be_imported_is_in_this_jax():
    missing = [
        name.where
        for name in names.NAMES.values()
        if name.where.startswith(("jax._src.", "jaxlib.", "jax.core.", "jax.interpreters."))
        and not name.exists()
        and name is not kernels.CUDNN
    ]
    assert missing == []


def test_each_declaration_says_all():
    assert len(names.NAMES) > 35
    for name in names.NAMES.values():
        assert all((name.purpose, name.without, name.seen)), name.where


def test_the_files_are_named_in_the_folders_docstring():
    package = __import__("torchlike._runtime.jax_private", fromlist=["_"])
    for path in ROOM.glob("*.py"):
        assert path.stem == "__init__" or f"`{path.stem}`" in package.__doc__, path.stem


def test_the_folder_stands_on_logs_and_patches_alone():
    found = {
        f"{node.module}.{alias.name}"
        for path in ROOM.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torchlike")
        for alias in node.names
    }
    outside = {name for name in found if not name.startswith("torchlike._runtime.jax_private")}
    assert outside == {"torchlike._runtime.logs", "torchlike._runtime.patches.Patch"}


def test_a_missing_name_is_told_and_another_way_taken(caplog):
    name = names.PrivateName("jax._src.core.no_such_name", "a test", "the slow way is taken")
    assert name.find(lambda: "slow") == "slow"
    (line,) = caplog.records
    for word in ("jax._src.core.no_such_name", "a test", "the slow way is taken", jax.__version__):
        assert word in line.getMessage()
    with pytest.raises(NotImplementedError, match="no_such_name, by which torchlike does this"):
        name.require()
    assert not name.exists()


def test_no_name_is_declared_twice():
    with pytest.raises(AssertionError):
        names.declare(jaxprs.LITERAL.where, "a test", "nothing")


# -- the slower public ways ------------------------------------------------------------------------


def test_public_ways_give_the_same():
    device = jax.devices("cpu")[0]
    sharding = jax.sharding.SingleDeviceSharding(device)
    values = jnp.arange(3.0)
    aval = jax.core.ShapedArray((3,), values.dtype)
    public = arrays._put_publicly(aval, sharding, [values], [device])
    private = arrays.put(aval, sharding, [values], [device], True)
    assert public.tolist() == private.tolist() == [0.0, 1.0, 2.0]
    assert tracing._seems_clean() is tracing.trace_state_clean() is True
    seen = []

    def traced(x):
        seen.append((tracing._seems_clean(), tracing.trace_state_clean()))
        return x

    jax.jit(traced)(1.0)
    assert seen == [(False, False)]
    kinds = jaxprs.kinds()
    assert (kinds.Jaxpr, kinds.Literal) == (jaxprs.Jaxpr, jaxprs.Literal)


def test_arrays_of_parts_are_made_publicly_where_the_class_is_unknown(monkeypatch):
    part = jnp.arange(3.0)
    aval = jax.core.ShapedArray((3,), part.dtype)
    fast = arrays.of_parts(aval, part.sharding, [part], committed=True)
    monkeypatch.setattr(arrays, "_is_public", True)
    slow = arrays.of_parts(aval, part.sharding, [part], committed=True)
    assert fast.tolist() == slow.tolist()
    assert fast.sharding == slow.sharding


def test_inputs_read():
    jaxpr = jax.make_jaxpr(lambda x, y: x + 1)(1.0, 2.0).jaxpr
    assert list(tracing.inputs_read(jaxpr)) == [True, False]


def test_all_inputs_count_as_read_without_the_name(monkeypatch):
    monkeypatch.setattr(tracing, "_dce_jaxpr", None)
    jaxpr = jax.make_jaxpr(lambda x, y: x + 1)(1.0, 2.0).jaxpr
    assert tracing.inputs_read(jaxpr) == [True, True]


@pytest.mark.parametrize("name", ["TPU_CHIPS", "NVIDIA_GPU"])
def test_a_device_counts_as_there_where_jax_cannot_tell(name, monkeypatch):
    gone = names.PrivateName("jax._src.hardware_utils.no_such_name", "a test", "it counts as there")
    monkeypatch.setattr(backends, name, gone)
    assert {"TPU_CHIPS": backends.has_tpu, "NVIDIA_GPU": backends.has_nvidia_gpu}[name]()


# -- the walker ------------------------------------------------------------------------------------


def _sine(x):
    return jnp.sin(x)


@jax.custom_jvp
def _own_jvp(x):
    return jnp.sin(x)


_own_jvp.defjvp(lambda primals, tangents: (_own_jvp(*primals), tangents[0]))


@jax.custom_vjp
def _own_vjp(x):
    return jnp.sin(x)


_own_vjp.defvjp(lambda x: (_own_vjp(x), None), lambda residuals, g: (g,))

#: What runs `sin` inside: by whom, and whether once on its own operands.
PROGRAMS = {
    "jit": (jax.jit(_sine), True),
    "checkpoint": (jax.checkpoint(_sine), True),
    "custom_jvp": (_own_jvp, True),
    "custom_vjp": (_own_vjp, True),
    "cond": (lambda x: lax.cond(x > 0, _sine, lambda x: x, x), False),
    "switch": (lambda x: lax.switch(jnp.int32(1), [_sine, lambda x: x], x), False),
    "while": (lambda x: lax.while_loop(lambda x: x > 0.4, _sine, x), False),
    "scan": (lambda x: lax.scan(lambda c, _: (_sine(c), None), x, None, length=3)[0], False),
    "shard_map": (
        lambda x: jax.shard_map(
            _sine,
            mesh=jax.make_mesh((1,), ("i",)),
            in_specs=jax.sharding.PartitionSpec(),
            out_specs=jax.sharding.PartitionSpec(),
        )(x),
        False,
    ),
    "nested": (jax.jit(lambda x: lax.cond(x > 0, jax.jit(_sine), lambda x: x, x)), True),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_walk_finds_what_is_inside(name):
    program, is_call = PROGRAMS[name]
    jaxpr = jax.make_jaxpr(program)(0.5).jaxpr
    assert "sin" in [eqn.primitive.name for eqn in equations.walk(jaxpr)]
    assert "sin" not in [eqn.primitive.name for eqn in jaxpr.eqns]
    outer = next(eqn for eqn in jaxpr.eqns if any(equations.subjaxprs(eqn)))
    assert (equations.called(outer) is not None) is is_call


@pytest.mark.parametrize("name", PROGRAMS)
def test_interpret_evaluates(name):
    program, _ = PROGRAMS[name]
    closed = jax.make_jaxpr(program)(0.5)

    def run(eqn, operands):
        inner = equations.called(eqn)
        if inner is not None:
            return equations.interpret(*inner, operands, run)
        return primitives.evaluator(eqn.primitive, eqn.params)(*operands)

    found = equations.interpret(closed.jaxpr, closed.consts, [jnp.float64(0.5)], run)
    assert [float(x) for x in found] == [float(program(jnp.float64(0.5)))]


def test_rewrite():
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) + 1)(0.5)
    assert equations.rewrite(closed.jaxpr, lambda eqn: None) is closed.jaxpr
    cosine = jax.make_jaxpr(jnp.cos)(0.5).jaxpr.eqns[0]

    def change(eqn):
        if eqn.primitive.name == "sin":
            return [cosine.replace(invars=eqn.invars, outvars=eqn.outvars)]
        return None

    jaxpr = equations.rewrite(closed.jaxpr, change)
    (found,) = jax.core.eval_jaxpr(jaxpr, closed.consts, 0.5)
    assert float(found) == float(jnp.cos(0.5) + 1)


def test_the_operands_of_loops():
    def scanned(c, rows, k):
        return lax.scan(lambda c, row: (c + row * k, c), c, rows)

    (eqn,) = [
        e
        for e in jax.make_jaxpr(scanned)(1.0, jnp.ones(3), 2.0).jaxpr.eqns
        if e.primitive.name == "scan"
    ]
    assert equations.loop_of(eqn) == (1, 1)

    def counted(x, limit, step):
        return lax.while_loop(lambda x: x < limit, lambda x: x + step, x)

    jaxpr = jax.make_jaxpr(counted)(1.0, 5.0, 2.0).jaxpr
    (eqn,) = [e for e in jaxpr.eqns if e.primitive.name == "while"]
    assert equations.while_parts(eqn)[2:] == (1, 1)
