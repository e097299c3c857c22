"""Files of torch.export and torch.jit that would run what they say, and damaged ones."""

import io
import json
import pickle
import warnings
import zipfile

import jax
import jax.numpy as jnp
import pytest
from jax import export as jax_export
from jaxlib.mlir import ir

import torchlike as torch
from tests.export.archives import changed, exported, scripted, with_program
from tests.serialization.mutants import mutants, outcomes
from torchlike.serialization.damage import reading
from torchlike.serialization.stablehlo import safety

RUN = []
CODE = "__import__('tests.export.test_hostile_files').export.test_hostile_files.RUN.append(1)"


@pytest.fixture(autouse=True)
def nothing_runs():
    RUN.clear()
    yield
    assert not RUN


def run(change):
    """Load a changed program and call it."""
    program = torch.export.load(with_program(change))
    return program.module()(torch.ones(2, 3), scale=2.0)


def nodes(program, op):
    return [n for n in program["graph"]["nodes"] if n["op"] == op]


def last_placeholder(program):
    return next(n for n in nodes(program, "placeholder") if n["name"] == "x")


def test_the_program_itself_runs():
    found = run(lambda program: None)
    assert found["y"].shape == (2, 2)


def target_of_a_placeholder(program):
    last_placeholder(program)["target"] = f"x = {CODE}"


def name_of_a_node(program):
    nodes(program, "call_function")[0]["name"] = f"y = {CODE}; y"


def keyword_of_a_call(program):
    call = nodes(program, "call_function")[0]
    call["kwargs"] = {"dict": {f"a={CODE}, b": 1}}


def name_of_an_argument(program):
    program["arguments"][0] = f"x={CODE}"


def path_of_an_attribute(program):
    node = nodes(program, "get_attr")[0]
    node["target"] = f'a"), {CODE}, ("'


def attribute_of_the_module(program):
    node = nodes(program, "get_attr")[0]
    node["op"], node["target"] = "call_module", "to_folder"
    node["args"] = {"tuple": ["/tmp/never"]}


def attribute_of_pythons(program):
    nodes(program, "get_attr")[0]["target"] = "forward.__globals__"


def state_that_is_none(program):
    found = next(s for s in program["inputs"] if s["kind"] == "PARAMETER")
    found["target"] = "forward.__globals__"


def walked_functions(program):
    nodes(program, "call_function")[0]["target"] = ["symbolic", "__builtins__", "get"]


def function_that_makes_functions(program):
    nodes(program, "call_function")[0]["target"] = ["operator", "methodcaller"]


def module_of_a_module(program):
    nodes(program, "call_function")[0]["target"] = ["symbolic", "operator"]


def namespace_that_is_walked(program):
    nodes(program, "call_function")[0]["target"] = ["ops", "aten", "__class__", "mro"]


def attribute_of_tensors_that_is_no_operator(program):
    nodes(program, "call_function")[0]["target"] = ["ops", "aten", "register_hook", "default"]


def operator_that_opens_files(program):
    call = nodes(program, "call_function")[0]
    call["target"] = ["ops", "aten", "from_file", "default"]
    call["args"] = {"tuple": ["/tmp/never", True, 4]}


def overload_that_is_walked(program):
    nodes(program, "call_function")[0]["target"] = ["ops", "aten", "add", "operator"]


def method_of_objects(program):
    call = nodes(program, "call_function")[0]
    call["op"], call["target"] = "call_method", "__reduce__"
    call["args"], call["kwargs"] = {"tuple": [{"node": "x"}]}, {"dict": {}}


def method_that_is_no_operator(program):
    method_of_objects(program)
    nodes(program, "call_method")[0]["target"] = "numpy"


def method_of_a_text(program):
    method_of_objects(program)
    call = nodes(program, "call_method")[0]
    call["target"], call["args"] = "sum", {"tuple": ["text"]}


def another_operation(program):
    nodes(program, "call_function")[0]["op"] = "root"


def class_of_a_signature(program):
    program["inputs"][-1]["arg"][0] = "InputSpec"


def dtype_that_is_walked(program):
    call = nodes(program, "call_function")[0]
    call["kwargs"] = {"dict": {"dtype": {"dtype": "__builtins__"}}}


def argument_of_raw_data(program):
    nodes(program, "call_function")[0]["args"] = {"tuple": [[{"node": "x"}]]}


def name_twice(program):
    graph = program["graph"]["nodes"]
    graph.insert(1, dict(graph[0]))


def symbol_that_is_code(program):
    program["ranges"] = {f"s0 >= 1; {CODE}": [0, 5]}


def module_of_a_treespec(fqn):
    def change(program):
        spec = json.loads(program["in_spec"])
        member = {"__enum__": True, "fqn": fqn, "name": "A"}
        spec[1]["children_spec"][1]["context"] = json.dumps([member])
        program["in_spec"] = json.dumps(spec)

    change.__name__ = fqn
    return change


def factory_of_a_treespec(program):
    spec = json.loads(program["out_spec"])
    spec[1]["type"] = "collections.defaultdict"
    place = {"default_factory_module": "this", "default_factory_name": "s"}
    spec[1]["context"] = {**place, "dict_context": ["y", "parts"]}
    program["out_spec"] = json.dumps(spec)


ATTACKS = [
    target_of_a_placeholder,
    name_of_a_node,
    keyword_of_a_call,
    name_of_an_argument,
    path_of_an_attribute,
    attribute_of_the_module,
    attribute_of_pythons,
    state_that_is_none,
    walked_functions,
    function_that_makes_functions,
    module_of_a_module,
    namespace_that_is_walked,
    attribute_of_tensors_that_is_no_operator,
    operator_that_opens_files,
    overload_that_is_walked,
    method_of_objects,
    method_that_is_no_operator,
    method_of_a_text,
    another_operation,
    class_of_a_signature,
    dtype_that_is_walked,
    argument_of_raw_data,
    name_twice,
    symbol_that_is_code,
    factory_of_a_treespec,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda f: f.__name__)
def test_a_program_that_names_something_else_is_refused_when_it_is_loaded(attack):
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.export.load(with_program(attack))


@pytest.mark.parametrize("fqn", ["this:A", "os:_Environ", "enum:_builtins", "os:path.sys"])
def test_a_treespec_imports_nothing(fqn, capsys):
    with pytest.raises(NotImplementedError, match="it is no enumeration that is known here"):
        torch.export.load(with_program(module_of_a_treespec(fqn)))
    assert not capsys.readouterr().out


def test_names_in_source_are_quoted():
    """A child may have any name without a dot: ``ModuleDict``'s keys."""
    model = torch.nn.ModuleDict({"it's\n": torch.nn.Linear(3, 2)})
    model.forward = model["it's\n"].forward
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, (torch.ones(1, 3),)), file)
    file.seek(0)
    assert torch.export.load(file).module()(torch.ones(1, 3)).shape == (1, 2)


# -- StableHLO -------------------------------------------------------------------------------------


def hostile_program():
    """A program that calls a function that some library of this process may have registered."""
    result = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    called = jax.jit(lambda x: jax.ffi.ffi_call("some_target", result)(x))
    check = jax_export.DisabledSafetyCheck.custom_call("some_target")
    made = jax_export.export(called, platforms=("cpu",), disabled_checks=[check])
    return bytes(made(result).serialize())


def as_older_export(content):
    """A file of torch.export that holds StableHLO, as it was written once."""

    def edit(text):
        return json.dumps({**json.loads(text), "kind": "torch.export"}).encode()

    return changed(content, "format.json", edit)


@pytest.mark.parametrize("load", [torch.jit.load, torch.export.load])
def test_a_call_of_something_else_than_what_is_listed_is_refused(load):
    content = changed(scripted(), "program_0.forward", lambda _: hostile_program())
    content = as_older_export(content) if load is torch.export.load else content
    with pytest.raises(RuntimeError, match=r"calls 'some_target' of XLA, which is not among"):
        load(io.BytesIO(content))


def test_what_waits_for_a_host_is_refused():
    class Exported:
        def mlir_module(self, serialized):
            return ir.Module.parse(
                "func.func public @main() -> tensor<2xf32> {\n"
                "  %t = stablehlo.create_token : !stablehlo.token\n"
                '  %r:2 = "stablehlo.infeed"(%t) {infeed_config = ""}'
                " : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)\n"
                "  return %r#0 : tensor<2xf32>\n}"
            )

    with pytest.raises(RuntimeError, match=r"has an operation 'stablehlo\.infeed'"):
        safety.check(Exported())


@pytest.mark.exhaustive
def test_linear_algebra_is_listed():
    class Solve(torch.nn.Module):
        def forward(self, x):
            return (
                torch.linalg.cholesky(x @ x.T + torch.eye(3)),
                torch.linalg.qr(x),
                torch.linalg.svd(x),
            )

    x = torch.linspace(0, 1, 9).reshape(3, 3)
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(Solve(), (x,)), file)
    file.seek(0)
    found, expected = torch.jit.load(file)(x), Solve()(x)
    assert torch.allclose(found[0], expected[0], 1e-4, 1e-5)


def test_the_first_of_two_records_of_one_name_counts(tmp_path):
    path = tmp_path / "two.pt2"
    path.write_bytes(exported())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("format.json", "{}")
    assert torch.export.load(path).module()(torch.ones(2, 3), scale=2.0)["y"].shape == (2, 2)


# -- damaged files ---------------------------------------------------------------------------------


def is_clear(error):
    return isinstance(error, (RuntimeError, pickle.UnpicklingError, NotImplementedError))


WHAT = [
    ("export", None),
    ("export", "format.json"),
    ("export", "weights.pt"),
    ("jit", None),
    ("jit", "format.json"),
    ("jit", "programs.json"),
    ("jit", "weights.pt"),
]
#: A process is started for each module of StableHLO; `tests/stablehlo/test_apart.py` has three.
LONG = [
    *(pytest.param(*what, 500, marks=pytest.mark.exhaustive) for what in WHAT),
    pytest.param("jit", "program_0.forward", 500, marks=pytest.mark.full),
]


@pytest.mark.parametrize(("kind", "record", "count"), [*((*what, 20) for what in WHAT), *LONG])
def test_damaged_files_say_so(kind, record, count, tmp_path):
    """The whole file, or one record of it with right checksums."""
    whole = exported() if kind == "export" else scripted()
    load = torch.export.load if kind == "export" else torch.jit.load
    part = whole
    if record is not None:
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            part = archive.read(record)
    path = tmp_path / "damaged"

    def read(content):
        path.write_bytes(content if record is None else changed(whole, record, lambda _: content))
        load(path)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts, raw = outcomes(mutants(part, count), read, is_clear)
    assert not raw
    assert counts["clear"] > count // 4, counts


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "model.pt2"
    path.write_bytes(changed(exported(), "format.json", lambda text: text[:-9]))
    with pytest.raises(RuntimeError, match=r"model\.pt2 is damaged: JSONDecodeError"):
        torch.export.load(path)
    path.write_bytes(changed(scripted(), "weights.pt", lambda content: content[:90]))
    with pytest.raises(RuntimeError, match=r"model\.pt2, weights\.pt is damaged|central directory"):
        torch.jit.load(path)


def test_what_a_reader_ends_in_is_damage():
    """JAX ends in StopIteration where a program's tree has fewer leaves than it says."""
    with (
        pytest.raises(RuntimeError, match=r"^model\.pt2 is damaged: StopIteration"),
        reading("model.pt2"),
    ):
        next(iter(()))
