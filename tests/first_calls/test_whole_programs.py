"""Compiled functions of so few operations that NumPy computes them faster than XLA is called."""

import jax
import numpy as np

import torchlike as torch
from torchlike._runtime.first_calls.statistics import records


def bell(x):
    return (-x * x).exp().tanh()


def written(x):
    return x.add_(1).exp()


def recorded(x):
    return x.exp().tanh()


def larger(x):
    return x.exp().tanh()


def copied(x):
    return x.clone(), (x * x).exp()


def calls_by_numpy(name):
    return records[name].calls if name in records else 0


def compiled(function):
    return torch.jit(function, warmup=0)


def test_a_small_program_is_computed_by_numpy_and_told():
    x = torch.linspace(-2, 2, 2048)
    function = compiled(bell)
    before = calls_by_numpy("bell")
    for _ in range(3):
        found = function(x)
    assert calls_by_numpy("bell") == before + 3
    assert "bell" in str(torch.compiler.report())
    assert type(found._storage.cell) is np.ndarray
    torch.testing.assert_close(found, bell(x))


def test_larger_programs_and_those_that_write_or_record_are_not():
    compiled(written)(torch.zeros(2048))
    compiled(recorded)(torch.zeros(2048, requires_grad=True))
    compiled(larger)(torch.zeros(1 << 14))
    assert [calls_by_numpy(name) for name in ("written", "recorded", "larger")] == [0, 0, 0]
    with torch.no_grad():
        compiled(recorded)(torch.zeros(2048))
    assert calls_by_numpy("recorded") == 1


def test_its_results_are_their_own():
    x = torch.ones(2048)
    found, _ = compiled(copied)(x)
    assert calls_by_numpy("copied") == 1
    x.zero_()
    assert found.sum().item() == 2048


def test_xla_computes_it_where_all_is_compiled_and_in_a_trace():
    x = torch.linspace(-2, 2, 2048)
    function = compiled(bell)
    function(x)
    before = calls_by_numpy("bell")
    with torch.compiler.set_first_calls("compiled"):
        torch.testing.assert_close(function(x), bell(x))
    program = function.programs()[0]
    (traced,) = jax.jit(program.run)([x.jax()])
    np.testing.assert_allclose(traced, bell(x).numpy(), rtol=1e-5)
    assert calls_by_numpy("bell") == before
