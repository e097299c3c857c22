"""A Flax module as a torchlike module: state, modes, random numbers, mixed models; bad input."""

import copy
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

import torchlike as torch
from torchlike.interop.flax import from_linen, from_nnx, to_nnx


class Mixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(3, 4)
        self.middle = from_nnx(
            nnx.Sequential(
                nnx.Linear(4, 4, rngs=nnx.Rngs(0)),
                nnx.BatchNorm(4, rngs=nnx.Rngs(0)),
                nnx.Dropout(0.2, rngs=nnx.Rngs(1)),
            )
        )
        dense = linen.Dense(2)
        variables = dense.init(jax.random.key(0), jnp.zeros((1, 4), jnp.float32))
        self.last = from_linen(dense, variables)

    def forward(self, x):
        return self.last(self.middle(self.first(x).relu()))


def train(model, compiled):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((8, 3)).astype("float32"))

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = torch.jit(step) if compiled else step
    return [step().item() for _ in range(4)]


def test_a_mixed_model_trains_eager_as_compiled(tmp_path):
    eager, compiled = Mixed(), Mixed()
    twin = copy.deepcopy(eager)
    losses = train(eager, False)
    np.testing.assert_allclose(train(compiled, True), losses, rtol=1e-5)
    np.testing.assert_allclose(train(twin, False), losses, rtol=1e-6)
    for (name, a), b in zip(
        eager.state_dict().items(), compiled.state_dict().values(), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=name)
    assert losses[-1] < losses[0]
    assert eager.state_dict()["middle.layers.2.rngs.count"].item() == 4
    torch.save(eager.state_dict(), tmp_path / "m.pt")
    again = Mixed()
    again.load_state_dict(torch.load(tmp_path / "m.pt"))
    x = torch.ones(2, 3)
    assert torch.equal(again(x), eager(x))  # the same mask, too


@pytest.mark.parametrize("compiled", [False, True])
def test_a_parameter_that_is_replaced_is_used(compiled):
    ours = from_nnx(nnx.Sequential(nnx.Linear(2, 2, use_bias=False, rngs=nnx.Rngs(0))))
    call = torch.jit(ours) if compiled else ours
    x = torch.ones(1, 2)
    call(x)
    getattr(ours.layers, "0").kernel = torch.nn.Parameter(torch.eye(2))
    assert call(x).tolist() == [[1, 1]]


def test_names_of_methods_are_names_of_variables_too():
    linear = torch.nn.Linear(2, 2)
    again = from_nnx(to_nnx(linear))  # its variables are called "parameters"
    x = torch.ones(1, 2)
    np.testing.assert_allclose(again(x).detach(), linear(x).detach(), rtol=1e-6)
    assert "parameters.weight" in again.state_dict()


def test_values_are_copies_in_both_directions():
    module = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    ours = from_nnx(module)
    before = np.array(module.kernel[...])
    with torch.no_grad():
        ours.kernel.zero_()
    np.testing.assert_array_equal(module.kernel[...], before)
    assert not ours.to_flax().kernel[...].any()
    linear = torch.nn.Linear(2, 2)
    theirs = to_nnx(linear)
    theirs.parameters["weight"][...] = jnp.zeros((2, 2), jnp.float32)
    assert linear.weight.any()
    assert not theirs.to_torchlike().weight.any()


def test_to_nnx_trains_by_nnx_optimizer():
    optax = pytest.importorskip("optax")
    model = to_nnx(
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    )
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    x = jnp.ones((4, 3), jnp.float32)

    @nnx.jit
    def step(model, optimizer):
        loss, gradients = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        optimizer.update(model, gradients)
        return loss

    losses = [float(step(model, optimizer)) for _ in range(4)]
    assert losses[-1] < losses[0]


def test_random_numbers_are_drawn_at_each_run_of_jax():
    """They were constants of the compiled program: the same mask for ever."""
    dropout = torch.nn.Dropout(0.5)
    f = jax.jit(torch.to_jax_function(dropout))
    x = jnp.ones(64, jnp.float32)
    torch.manual_seed(0)
    first, second = np.array(f(x)), np.array(f(x))
    assert (first != second).any()
    torch.manual_seed(0)
    np.testing.assert_array_equal(first, dropout(torch.ones(64)))
    np.testing.assert_array_equal(second, dropout(torch.ones(64)))
    value, gradient = jax.jit(jax.value_and_grad(lambda x: f(x).sum()))(x)
    np.testing.assert_allclose(value, gradient.sum(), rtol=1e-6)


def test_bad_input():
    with pytest.raises(TypeError, match=r"takes a flax\.nnx\.Module, not Linear"):
        from_nnx(torch.nn.Linear(1, 1))
    with pytest.raises(TypeError, match=r"takes a torchlike\.nn\.Module, not Linear"):
        to_nnx(nnx.Linear(1, 1, rngs=nnx.Rngs(0)))
    with pytest.raises(TypeError, match=r"flax\.linen\.Module"):
        from_linen(nnx.Linear(1, 1, rngs=nnx.Rngs(0)), {})
    with pytest.raises(TypeError, match=r"module\.init"):
        from_linen(linen.Dense(2), {"params": 3})
    part = from_nnx(nnx.Sequential(nnx.Linear(1, 1, rngs=nnx.Rngs(0))))
    with pytest.raises(NotImplementedError, match="call the whole module"):
        part.layers(torch.ones(1, 1))


@pytest.mark.exhaustive
def test_flax_is_imported_when_asked_for():
    code = (
        "import sys, torchlike; assert 'flax' not in sys.modules and 'optax' not in sys.modules; "
        "torchlike.interop.flax.from_nnx; assert 'flax' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
