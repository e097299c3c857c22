"""Arrays that a function which is captured takes out of tensors are JAX's to trace: their values
cannot be frozen, and chex counts the traces."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch

w = torch.tensor(2.0)
model = torch.nn.Linear(2, 1)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: float(x.jax()),
        lambda x: int(x.jax()),
        lambda x: x.jax().item(),
        lambda x: np.asarray(x.jax()).item(),
        lambda x: float(jnp.asarray(x)),
        lambda x: float(jax.tree.leaves({"x": x})[0]),
        lambda x: np.asarray(jax.tree.leaves(model)[0]).sum().item(),
        lambda x: float(w.jax()),
        lambda x: jax.tree.map(np.asarray, [x])[0].item(),
    ],
)
def test_a_value_is_not_frozen(read):
    with pytest.raises((jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)):
        torch.jit(lambda x: x * read(x))(torch.tensor(3.0))
    compiled = torch.compile(lambda x: x * read(x))
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        compiled(torch.tensor(3.0))
    for n in (4.0, 5.0):
        x = torch.tensor(n)
        assert compiled(x).item() == (x * read(x)).item()


def test_arrays_compute_as_before():
    @torch.jit
    def f(x):
        return torch.from_jax(jnp.sin(x.jax()) + jax.tree.map(jnp.cos, w).jax())

    for n in (1.0, 2.0):
        x = torch.full((3,), n)
        w.fill_(n)
        torch.testing.assert_close(f(x), x.sin() + w.cos(), rtol=1e-6, atol=0)
    assert f.compiles == 1


def test_max_traces():
    chex.clear_trace_counter()

    @torch.jit
    @chex.assert_max_traces(n=2)
    def f(x, y=1.0):
        return x * y

    for n in (2, 2, 3, 3, 2):
        f(torch.ones(n))
    with pytest.raises(AssertionError, match="traced > 2 times"):
        f(torch.ones(4))
    with pytest.raises(AssertionError, match="traced > 2 times"):
        f(torch.ones(5))
    assert f(torch.ones(3)).tolist() == [1.0] * 3


def test_a_body_that_runs_twice_for_one_program_is_one_trace():
    chex.clear_trace_counter()

    @chex.assert_max_traces(n=1)
    def branches(x):
        if x.sum() > 0:
            return x * 2
        return x

    f = torch.jit(branches)
    assert f(torch.ones(2)).tolist() == [2.0, 2.0]
    assert f(-torch.ones(2)).tolist() == [-1.0, -1.0]
