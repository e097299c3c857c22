"""Exported programs against PyTorch's: graphs, signatures, results, files, decompositions."""

import dataclasses
import io
import re
import warnings

import pytest
import torch

import torchlike
from tests.parity.export.program_cases import CASES
from torchlike.fx.experimental.proxy_tensor import make_fx
from torchlike.utils import _pytree as pytree

LIBRARIES = (torch, torchlike)


def exported(library, name):
    module, args, kwargs, shapes = CASES[name](library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own code warns of itself
        return library.export.export(module, args, kwargs, dynamic_shapes=shapes), args, kwargs


def operators(program):
    """The operators of a program and of the graphs below it, whatever they are nested in."""
    graphs = [m.graph for m in program.graph_module.modules() if hasattr(m, "graph")]
    return sorted(str(n.target) for g in graphs for n in g.nodes if n.op == "call_function")


def signature(program):
    """The signature as text. Names of parts of results count differently."""
    return re.sub(
        r"(getitem|submod|copy_+default|sym_size_int)(_\d+)?", r"\1", str(program.graph_signature)
    )


@pytest.mark.parametrize("name", CASES)
def test_graphs_are_the_same(name):
    ours, theirs = (exported(t, name)[0] for t in (torchlike, torch))
    assert operators(ours) == operators(theirs)
    assert signature(ours) == signature(theirs)
    assert list(ours.state_dict) == list(theirs.state_dict)
    assert sorted(ours.constants) == sorted(theirs.constants)
    assert sorted(map(str, ours.range_constraints.values())) == sorted(
        map(str, theirs.range_constraints.values())
    )
    ours.validate()


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("how", ["as it is", "decomposed", "from a file", "compiled"])
@pytest.mark.parametrize("name", CASES)
def test_programs_give_what_the_module_gives(name, how):
    module, args, kwargs, _ = CASES[name](torchlike)
    program, _, _ = exported(torchlike, name)
    for key, value in module.state_dict().items():
        program.state_dict[key].detach().copy_(value)
    if how == "decomposed":
        program = program.run_decompositions()
        assert not any("_." in operator for operator in operators(program))
        program.validate()
    if how == "from a file":
        file = io.BytesIO()
        torchlike.export.save(program, file)
        file.seek(0)
        before, program = program, torchlike.export.load(file)
        assert str(program.graph) == str(before.graph)
        assert str(program.graph_signature) == str(before.graph_signature)
    run = program.module()
    if how == "compiled":
        run = torchlike.jit(run)
    copies = pytree.tree_map(
        lambda a: a.clone() if isinstance(a, torchlike.Tensor) else a, (args, kwargs)
    )
    torchlike.manual_seed(0)
    found = run(*copies[0], **copies[1])
    torchlike.manual_seed(0)
    expected = module(*args, **kwargs)
    for a, b in zip(
        *map(pytree.tree_leaves, ((found, *copies), (expected, args, kwargs))), strict=True
    ):
        if isinstance(b, torchlike.Tensor):
            torchlike.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
        else:
            assert a == b


@dataclasses.dataclass
class Pair:
    first: torchlike.Tensor
    n: int


torchlike.export.register_dataclass(Pair, serialized_type_name="tests.Pair")


class Paired(torchlike.nn.Module):
    def forward(self, x, pair):
        return Pair(x + pair.first, pair.n)


def test_dataclasses_are_containers():
    x = torchlike.ones(2)
    program = torchlike.export.export(Paired(), (x, Pair(x, 3)))
    file = io.BytesIO()
    torchlike.export.save(program, file)
    file.seek(0)
    for made in (program, torchlike.export.load(file)):
        found = made.module()(x, Pair(x * 2, 3))
        assert type(found) is Pair
        assert found.first.tolist() == [3, 3]
        assert found.n == 3


class Looped(torchlike.nn.Module):
    def forward(self, x):
        start = torchlike.tensor(0)
        return torchlike.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2 + x), (start, x))


@pytest.mark.parametrize("decomposed", [False, True])
def test_a_loop_is_one_operator(decomposed):
    program = torchlike.export.export(Looped(), (torchlike.ones(2),))
    program = program.run_decompositions() if decomposed else program
    assert "while_loop" in operators(program)
    for x in (torchlike.ones(2), torchlike.arange(2.0)):
        for run in (program.module(), torchlike.jit(program.module())):
            found, expected = run(x), Looped()(x)
            assert [t.tolist() for t in found] == [t.tolist() for t in expected]


def test_one_tensor_as_two_arguments():
    module, (x, y), _, _ = CASES["one_tensor_twice"](torchlike)
    program = torchlike.export.export(module, (x, x))
    assert program.module()(x, y).tolist() == module(x, y).tolist()


@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("mode", ["real", "fake"])
def test_traces_under_autocast_compute_in_its_dtype(mode, above):
    module, args, _, _ = CASES["autocast_inside"](torchlike)
    graph = make_fx(module, tracing_mode=mode, pre_dispatch=above)(*args)
    for found, expected in zip(graph(*args), module(*args), strict=True):
        assert found.dtype is expected.dtype
        assert found.tolist() == expected.tolist()


def nested_modules(t):
    class Block(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = t.nn.Linear(3, 3)
            self.norm = t.nn.BatchNorm1d(3)

        def forward(self, x):
            return self.norm(self.lin(x)).relu()

    class M(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = t.nn.ModuleList([Block(), Block()])
            self.out = t.nn.Linear(3, 2)
            self.scale = t.nn.Parameter(t.ones(3))

        def forward(self, x, *, y):
            for block in self.blocks:
                x = block(x) * self.scale
            return {"out": self.out(x + self.out.weight.sum()), "y": y + 1}

    t.manual_seed(0)
    return M(), (t.arange(12.0).reshape(4, 3).sin(),), {"y": t.ones(2)}


def test_unflattened_programs_are_nested_as_the_modules_were():
    made = {}
    for t in LIBRARIES:
        module, args, kwargs = nested_modules(t)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made[t] = t.export.unflatten(t.export.export(module, args, kwargs))
        expected, found = module(*args, **kwargs), made[t](*args, **kwargs)
        assert list(found) == list(expected)
        t.testing.assert_close(found["out"], expected["out"])
    ours, theirs = made[torchlike], made[torch]
    names = [sorted(n for n, _ in m.named_modules()) for m in (ours, theirs)]
    assert names[0] == names[1]
    assert sorted(ours.state_dict()) == sorted(theirs.state_dict())
    for m in (ours, theirs):
        block = m.get_submodule("blocks.0").graph
        assert [n.target for n in block.nodes if n.op == "call_module"] == ["lin", "norm"]


class Applied(torchlike.export.FlatArgsAdapter):
    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        return [*input_args, torchlike.ones(2)]


def test_unflattened_programs_are_called_as_they_were_exported():
    module, args, kwargs = nested_modules(torchlike)
    program = torchlike.export.export(module, args, kwargs)
    unflattened = torchlike.export.unflatten(program)
    with pytest.raises(TypeError, match="There is no flat args adapter specified"):
        unflattened(*args)
    adapted = torchlike.export.unflatten(program, Applied())
    assert adapted(*args)["y"].tolist() == [2, 2]
    with pytest.raises(ValueError, match=r"as torch\.export\.export gives them"):
        torchlike.export.unflatten(program.run_decompositions())


@pytest.mark.parametrize("times", [1, 2])
def test_a_module_that_is_called_again_has_its_parameters_once(times):
    class M(torchlike.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torchlike.nn.Linear(3, 3)

        def forward(self, x):
            for _ in range(times):
                x = self.lin(x)
            return x

    module, x = M(), torchlike.ones(2, 3)
    found = torchlike.export.unflatten(torchlike.export.export(module, (x,)))
    assert torchlike.equal(found(x), module(x))
    assert len(list(found.parameters())) == 2


class Switched(torchlike.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torchlike.nn.Linear(3, 3)

    def forward(self, x):
        with torchlike.autocast("cpu", dtype=torchlike.bfloat16):
            y = self.lin(x)
            with torchlike.no_grad():
                z = y @ self.lin.weight
        return y, z


@pytest.mark.parametrize("decomposed", [False, True])
def test_no_gradients_under_autocast(decomposed):
    module = Switched()
    program = torchlike.export.export(module, (torchlike.ones(2, 3),))
    program = program.run_decompositions() if decomposed else program
    found, expected = program.module()(torchlike.ones(2, 3)), module(torchlike.ones(2, 3))
    for a, b in zip(found, expected, strict=True):
        assert a.dtype is torchlike.bfloat16
        assert a.tolist() == b.tolist()
        assert a.requires_grad is b.requires_grad


class Bound(torchlike.nn.Module):
    def __init__(self, how):
        super().__init__()
        self.weight = torchlike.nn.Parameter(torchlike.ones(2))
        self.how = how

    def forward(self, x):
        if self.how == "a parameter":
            self.weight = torchlike.nn.Parameter(x * 2)
        else:
            self.register_buffer("more", x * 2)
        return x * self.weight


@pytest.mark.parametrize("how", ["a parameter", "a buffer"])
def test_state_that_is_bound_anew_is_refused_and_undone(how):
    module = Bound(how)
    weight = module.weight
    with pytest.raises(ValueError, match="was bound during export"):
        torchlike.export.export(module, (torchlike.ones(2),))
    assert module.weight is weight
    assert list(module.state_dict()) == ["weight"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_gradients_stop_where_they_did(library):
    program, args, _ = exported(library, "without_gradients_inside")
    x = args[0].clone().requires_grad_()
    module = program.module()
    module(x).sum().backward()
    expected, args, _, _ = CASES["without_gradients_inside"](library)
    with library.no_grad():
        for p, q in zip(expected.parameters(), module.parameters(), strict=True):
            p.copy_(q)
    y = args[0].clone().requires_grad_()
    expected(y).sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


class Sized:
    @staticmethod
    def of(t):
        class M(t.nn.Module):
            def forward(self, x):
                return x * int(x.shape[0])

        return M()


def asked_of(t):
    class M(t.nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    return M()


def attribute(t):
    class M(t.nn.Module):
        def forward(self, x):
            self.last = x * 2
            return x

    return M()


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_cannot_be_exported(library):
    x = library.ones(5, 3)
    export, dim = library.export.export, library.export.Dim
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for said in (dim("batch"), dim.DYNAMIC):
            with pytest.raises(RuntimeError, match=r"specialized it to be a constant \(5\)"):
                export(Sized.of(library), (x,), dynamic_shapes={"x": {0: said}})
        with pytest.raises(RuntimeError):
            export(asked_of(library), (x,))
    with pytest.warns(UserWarning, match=r"The tensor attribute self\.last was assigned"):
        export(attribute(library), (x,))


@pytest.mark.parametrize("library", LIBRARIES)
def test_calls_that_do_not_fit(library):
    program, _, _ = exported(library, "a_named_dimension")
    module = program.module()
    y = library.ones(2, 3)
    for args, error, words in (
        ((library.ones(65, 2), y), AssertionError, r"Guard failed: x\.size\(\)\[0\] <= 64"),
        (
            (library.ones(5, 2), library.ones(2, 4)),
            AssertionError,
            r"Guard failed: y\.size\(\)\[1\] == 3",
        ),
        ((library.ones(5, 2),), ValueError, "Trying to flatten user inputs"),
    ):
        with pytest.raises(error, match=words):
            module(*args)
    with pytest.raises(NotImplementedError, match=r"Calling eval\(\) is not supported"):
        module.eval()
    with pytest.raises(RuntimeError, match=r"exported_program\.module\(\)"):
        program(y)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_derived_dimension(library):
    class M(library.nn.Module):
        def forward(self, x):
            return x.reshape(x.shape[0] // 2, 2, -1).sum((1, 2))

    shapes = ({0: 2 * library.export.Dim("half", max=8)},)
    program = library.export.export(M(), (library.ones(6, 4),), dynamic_shapes=shapes)
    assert program.module()(library.ones(16, 4)).tolist() == [8.0] * 8
    for n in (7, 18):
        with pytest.raises(AssertionError, match="Guard failed"):
            program.module()(library.ones(n, 4))


@pytest.mark.parametrize("library", LIBRARIES)
def test_shapes_that_do_not_fit(library):
    class M(library.nn.Module):
        def forward(self, x, n):
            return x * n

    dim = library.export.Dim("rows")
    for shapes, words in (
        ({"zz": None}, r"must be the arg names \['x', 'n'\]"),
        (({0: dim}, None, None), "Detected mismatch between the structure"),
    ):
        with pytest.raises(RuntimeError, match=words):
            library.export.export(M(), (library.ones(6), 3), dynamic_shapes=shapes)


def test_shapes_said_of_tensors_and_by_examples():
    shapes = torchlike.export.ShapesCollection()
    x, y = torchlike.ones(4, 2), torchlike.ones(2, 3)
    module = CASES["a_named_dimension"](torchlike)[0]
    shapes[x] = {0: torchlike.export.Dim("n")}
    assert shapes.dynamic_shapes(module, (x, y)) == {"x": {0: shapes[x][0]}, "y": None}
    more = torchlike.export.AdditionalInputs()
    more.add((torchlike.ones(6, 2), y))
    program = torchlike.export.export(module, (x, y), dynamic_shapes=more)
    assert list(map(str, program.range_constraints.values())) == ["VR[0, int_oo]"]
    more.verify(program)
