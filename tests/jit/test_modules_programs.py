"""Programs that call modules raise nothing that they would not raise eagerly, whoever compiles."""

import warnings

import numpy as np
import pytest

import torchlike as torch
from tests.jit.modules_programs import PROGRAMS
from torchlike import nn
from torchlike.porting import compiled


def eagerly(f):
    return f


@pytest.fixture
def modules_mode(monkeypatch):
    monkeypatch.setattr(nn.Module, "__call__", nn.Module.__call__)  # put back afterwards
    return compiled.apply("modules")


def _same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


pytestmark = pytest.mark.filterwarnings("ignore:Anomaly Detection")


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_by_torch_compile(name):
    expected = PROGRAMS[name](eagerly)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torchlike.jit", RuntimeWarning)
        found = PROGRAMS[name](torch.compile)
    _same(found, expected)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_in_modules_mode(name, request):
    expected = PROGRAMS[name](eagerly)
    request.getfixturevalue("modules_mode")
    _same(PROGRAMS[name](eagerly), expected)


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.shape = nn.Linear(2, 2), (3, 4)

    def forward(self, x):
        return self.linear(x).tanh()


def test_what_is_left_eager_is_told_once_with_the_line():
    part = Part()

    @torch.compile
    def step(x):
        y = part(x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return torch.autograd.grad(g.sum(), x)[0].sum().item()

    with pytest.warns(RuntimeWarning) as told:
        found = [step(torch.ones(3, 2, requires_grad=True)) for _ in range(5)]
    assert len(set(found)) == 1
    words = [str(w.message) for w in told if "looked into" in str(w.message)]
    assert len(words) == 1
    assert words[0].startswith("torchlike.jit: Part runs eagerly from now on")
    assert {w.filename for w in told} == {__file__}


def test_modules_mode_tells_what_it_left_eager(modules_mode):
    part, x = Part(), torch.ones(3, 2)
    for _ in range(3):
        assert part(x).grad_fn.name() == "TanhBackward0"
    assert list(modules_mode.left_eager) == ["Part"]
    assert "looked into" in modules_mode.left_eager["Part"]


def test_results_that_nobody_looks_into_stay_compiled(modules_mode):
    part = Part()
    for _ in range(3):
        part(torch.ones(3, 2)).sum().backward()
    y = part(torch.ones(3, 2))
    assert modules_mode.left_eager == {}
    assert y._node.name() == "CompiledBackward"


@pytest.mark.parametrize(
    "held",
    [
        pytest.param(PROGRAMS["tuple_without_a_length"], id="argument"),
        pytest.param(PROGRAMS["attribute_without_a_length"], id="attribute"),
        pytest.param(PROGRAMS["partial_that_is_half_built"], id="partial"),
    ],
)
def test_what_cannot_be_looked_into_is_a_clear_error(held, monkeypatch):
    """Of `torchlike.jit`, whose error names what it is."""
    eager = nn.Module.__call__
    compiled = {}

    def call(module, *args, **kwargs):
        found = compiled.setdefault(module, torch.jit(lambda *a, **k: eager(module, *a, **k)))
        return found(*args, **kwargs)

    monkeypatch.setattr(nn.Module, "__call__", call)
    with pytest.raises(torch.jit.JitCaptureError, match="cannot be looked into"):
        held(eagerly)
