"""torch.export: programs as objects and files."""

import io

import pytest

import torchlike as torch
from torchlike._dynamo.exc import UserError
from torchlike.export import Dim, export, load, save
from torchlike.serialization.stablehlo import archive
from torchlike.serialization.stablehlo.artifact import built
from torchlike.serialization.stablehlo.loaded import about_state, state_of

X = torch.linspace(-1, 2, 15).reshape(5, 3)


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2)
    ).eval()


def roundtrip(ep):
    file = io.BytesIO()
    save(ep, file)
    file.seek(0)
    return load(file)


@pytest.mark.parametrize("through_a_file", [False, True])
def test_values_and_gradients(through_a_file):
    m = model()
    ep = export(m, (X,))
    program = (roundtrip(ep) if through_a_file else ep).module()
    assert torch.allclose(program(X), m(X), 1e-5)
    x, y = X.clone().requires_grad_(), X.clone().requires_grad_()
    program(x).square().sum().backward()
    m(y).square().sum().backward()
    assert torch.allclose(x.grad, y.grad, 1e-5, 1e-6)
    for p, q in zip(m.parameters(), program.parameters(), strict=True):
        assert torch.allclose(p.grad, q.grad, 1e-5, 1e-6)
    assert sorted(ep.state_dict) == sorted(m.state_dict())
    assert "= torch.ops.aten.linear.default(" in str(ep)


def test_the_program_has_the_weights_of_the_module():
    m = model()
    ep = export(m, (X,))
    assert ep.state_dict["0.weight"] is m[0].weight
    assert ep.module().get_parameter("0.weight") is m[0].weight
    with torch.no_grad():
        m[0].weight.zero_()
    assert torch.allclose(ep.module()(X), m(X), 1e-5)


class Custom(torch.nn.Module):
    def forward(self, x, *, scale=1.0):
        y = torch.cond(x.sum() > 0, lambda x: x * scale, lambda x: x.detach() - x, (x,))
        return {"y": y, "n": 3, "same": x}


def test_branches_detach_and_keyword_arguments():
    m = Custom()
    program = roundtrip(export(m, (X,), {"scale": 2.0})).module()
    for x in (X, -X):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        found, expected = program(a, scale=2.0), m(b, scale=2.0)
        assert found["y"].tolist() == expected["y"].tolist()
        assert found["n"] == 3
        assert found["same"].tolist() == x.tolist()
        found["y"].sum().backward()
        expected["y"].sum().backward()
        assert a.grad.tolist() == b.grad.tolist()
    with pytest.raises(AssertionError, match=r"Guard failed: scale == 2\.0"):
        program(X, scale=3.0)
    with pytest.raises(ValueError, match=r"keywords \[\] but expected \['scale'\]"):
        program(X)


class Elementwise(torch.nn.Module):
    def forward(self, x):
        return (x * 2).tanh() + 1


def test_a_size_is_not_compared_with_one_of_another_dimension():
    """Where shapes of other lengths meet: a batch of as many rows as there are columns is none
    that the trace was not made for."""

    class Biased(torch.nn.Module):
        def forward(self, x):
            return x @ torch.ones(3, 4) + torch.ones(4)

    ep = export(Biased(), (torch.ones(2, 3),), dynamic_shapes=({0: Dim("batch", max=32)},))
    assert [ep.module()(torch.ones(n, 3)).shape for n in (2, 4, 8)] == [(2, 4), (4, 4), (8, 4)]


def test_a_dynamic_dimension():
    ep = export(Elementwise(), (X,), dynamic_shapes={"x": {0: Dim("batch", min=2, max=64)}})
    program = roundtrip(ep).module()
    for n in (2, 7, 64):
        x = torch.ones(n, 3)
        assert program(x).tolist() == Elementwise()(x).tolist()
    with pytest.raises(AssertionError, match=r"Guard failed: x\.size\(\)\[0\] <= 64"):
        program(torch.ones(65, 3))
    with pytest.raises(AssertionError, match=r"Guard failed: x\.size\(\)\[1\] == 3"):
        program(torch.ones(5, 4))


def test_a_dynamic_batch_of_a_model():
    m = model()
    program = roundtrip(export(m, (X,), dynamic_shapes=({0: Dim("batch")},))).module()
    for n in (1, 9):
        x = torch.linspace(0, 1, 3 * n).reshape(n, 3)
        assert torch.allclose(program(x), m(x), 1e-5, 1e-6)
    x, y = X.clone().requires_grad_(), X.clone().requires_grad_()
    program(x).square().sum().backward()
    m(y).square().sum().backward()
    assert torch.allclose(x.grad, y.grad, 1e-5, 1e-6)


class Sized(torch.nn.Module):
    def forward(self, x):
        return x * int(x.shape[0])


def test_a_dynamic_dimension_whose_number_is_needed():
    with pytest.raises(UserError, match=r"code specialized it to be a constant \(5\)"):
        export(Sized(), (X,), dynamic_shapes=({0: Dim("batch")},))
    ep = export(Sized(), (X,), dynamic_shapes=({0: Dim.AUTO},))
    assert ep.range_constraints == {}
    assert ep.module()(X).tolist() == (X * 5).tolist()


def test_a_file_of_stablehlo_still_runs():
    m = model()
    state = state_of(m)
    artifact = built(m, (X,), {}, state)
    artifact.about.update(training=False, modeless=False)
    file = io.BytesIO()
    archive.write(file, "torch.export", {**about_state(m), "constraints": []}, [artifact], state)
    file.seek(0)
    ep = load(file)
    assert torch.allclose(ep.module()(X), m(X), 1e-5, 1e-6)
    assert list(ep.state_dict) == list(m.state_dict())
    for name in ("graph", "graph_module", "graph_signature"):
        with pytest.raises(RuntimeError, match="saved as StableHLO, without a graph"):
            getattr(ep, name)


def test_errors():
    with pytest.raises(ValueError, match=r"instance of `torch\.nn\.Module`"):
        export(lambda x: x, (X,))
    with pytest.raises(NotImplementedError, match="signatures of submodules"):
        export(model(), (X,), preserve_module_call_signature=("0",))
    with pytest.raises(TypeError, match="to be a tuple"):
        export(model(), X)
    with pytest.raises(UserError, match="must be the arg names"):
        export(model(), (X,), dynamic_shapes={"nothing": None})
    with pytest.raises(RuntimeError, match="module\\(\\)"):
        export(model(), (X,))(X)
    with pytest.raises(TypeError, match="ExportedProgram"):
        save(model(), io.BytesIO())


class Places(torch.nn.Module):
    """Adds a row of a table of 8 to each row."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.arange(8.0)[:, None])

    def forward(self, x):
        return x + self.table[: x.size(0)]


@pytest.mark.parametrize("dim", [Dim("rows", max=8), Dim.DYNAMIC, Dim.AUTO])
def test_a_table_may_be_used_whole(dim):
    ep = export(Places(), (X,), dynamic_shapes=({0: dim},))
    assert [r.upper for r in ep.range_constraints.values()] == [8]
    for rows in (2, 8):
        assert torch.equal(ep.module()(torch.zeros(rows, 3))[:, 0], torch.arange(float(rows)))
    with pytest.raises(AssertionError, match=r"x\.size\(\)\[0\] <= 8"):
        ep.module()(torch.zeros(9, 3))


def test_a_range_that_is_too_wide_is_refused_with_the_one_that_fits():
    with pytest.raises(UserError, match=r"guard 8 >= rows\n.*\n  rows = Dim\('rows', max=8\)"):
        export(Places(), (X,), dynamic_shapes=({0: Dim("rows")},))
    with pytest.raises(UserError, match=r"rows = Dim\('rows', min=3, max=8\)"):
        export(Places(), (X,), dynamic_shapes=({0: Dim("rows", min=3)},))

    class Last(torch.nn.Module):
        def forward(self, x):
            return x[-4:] if x.size(0) >= 4 else x

    with pytest.raises(UserError, match=r"rows = Dim\('rows', min=4\)"):
        export(Last(), (X,), dynamic_shapes=({0: Dim("rows")},))


def test_sizes_of_a_parameter_that_takes_any_number_are_a_tuple():
    class Any(torch.nn.Module):
        def forward(self, *args):
            return args[0] * 2

    program = export(Any(), (X, X), dynamic_shapes=(({0: Dim("n")}, None),)).module()
    assert program(torch.ones(7, 3), X).shape == (7, 3)
    for said in (({0: Dim("n")},), (({0: Dim("n")},),)):
        with pytest.raises(UserError, match="mismatch between the structure"):
            export(Any(), (X, X), dynamic_shapes=said)
