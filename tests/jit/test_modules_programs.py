"""Programs that call modules raise nothing that they would not raise eagerly, whoever compiles, and
say the same where what cannot be compiled is deferred."""

import warnings

import numpy as np
import pytest

import torchlike as torch
from tests.jit.modules_programs import PROGRAMS
from torchlike import nn
from torchlike._core import modes
from torchlike._extensions.deferred import switch


def eagerly(f):
    return f


@pytest.fixture
def asked():
    """Defer as a function does that was to be compiled and cannot be captured."""
    switch.defer_as_asked()
    assert modes.current.queue is not None


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
def test_deferred(name, request):
    expected = PROGRAMS[name](eagerly)
    request.getfixturevalue("asked")
    _same(PROGRAMS[name](eagerly), expected)


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
