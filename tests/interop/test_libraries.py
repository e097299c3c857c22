"""optax and chex with tensors, parameters and modules; dtypes in NumPy and JAX."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import torchlike as torch
from torchlike.interop import arrays


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))


X = torch.tensor([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]])


def trained_by_torch(steps):
    m = model()
    optimizer = torch.optim.AdamW(m.parameters(), lr=1e-2, weight_decay=1e-4, eps=1e-8)
    for _ in range(steps):
        optimizer.zero_grad()
        m(X).square().mean().backward()
        optimizer.step()
    return m


def assert_trained(parameters):
    """As three steps of torch.optim train the same model."""
    for name, p in trained_by_torch(3).named_parameters():
        found = parameters[name].detach().numpy()
        np.testing.assert_allclose(found, p.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("jitted", [False, True])
def test_optax_updates_named_parameters_by_gradients_of_jax(jitted):
    m = model()
    parameters = dict(m.named_parameters())
    optimizer = optax.adamw(1e-2)
    state = optimizer.init(parameters)

    def loss(parameters):
        return torch.func.functional_call(m, parameters, (X,)).square().mean().jax()

    def step(parameters, state):
        updates, state = optimizer.update(jax.grad(loss)(parameters), state, parameters)
        return optax.apply_updates(parameters, updates), state

    if jitted:
        step = jax.jit(step)
    for _ in range(3):
        parameters, state = step(parameters, state)
    assert all(type(p) is torch.nn.Parameter and p.requires_grad for p in parameters.values())
    assert_trained(parameters)


def test_optax_updates_named_parameters_by_gradients_of_the_tape():
    m = model()
    optimizer = optax.adamw(1e-2)
    state = optimizer.init(arrays(dict(m.named_parameters())))
    for _ in range(3):
        m.zero_grad()
        m(X).square().mean().backward()
        gradients = arrays({name: p.grad for name, p in m.named_parameters()})
        parameters = arrays(dict(m.named_parameters()))
        updates, state = optimizer.update(gradients, state, parameters)
        with torch.no_grad():
            for name, p in m.named_parameters():
                p.add_(torch.from_jax(updates[name]))
    assert_trained(dict(m.named_parameters()))


def test_parameters_and_their_gradients_are_two_structures():
    m = torch.nn.Linear(2, 1)
    m(X).sum().backward()
    with pytest.raises(ValueError, match="different type"):
        jax.tree.map(lambda p, g: p - g, {"w": m.weight}, {"w": m.weight.grad})
    moved = jax.tree.map(lambda p, g: p - g, *arrays(({"w": m.weight}, {"w": m.weight.grad})))
    np.testing.assert_allclose(moved["w"], (m.weight - m.weight.grad).jax(), rtol=1e-6)


def test_chex_asserts_types_of_tensors():
    t, n, half = torch.rand(2), torch.arange(3), torch.rand(2).bfloat16()
    chex.assert_type([t, n, half], [torch.float32, torch.int64, torch.bfloat16])
    chex.assert_type([t, n], [float, int])
    chex.assert_type(t, jnp.float32)
    chex.assert_type(t.jax(), torch.float32)
    with pytest.raises(AssertionError, match="float32"):
        chex.assert_type(t, torch.float64)
    with pytest.raises(AssertionError):
        chex.assert_type(n, float)


def test_chex_scalars_are_numbers_of_python():
    # An array of JAX's is none either.
    for scalar in (torch.tensor(1.5), jnp.float32(1.5)):
        with pytest.raises(AssertionError, match="must be a scalar"):
            chex.assert_scalar(scalar)
        chex.assert_scalar(scalar.item())
        chex.assert_scalar_positive(float(scalar))


def test_arrays_of_a_tree():
    t, m = torch.rand(2), torch.nn.Linear(2, 1)
    found = arrays({"t": t, "m": m, "rest": [1, None, np.ones(2)]})
    np.testing.assert_array_equal(found["t"], t.jax())
    assert isinstance(found["t"], jax.Array)
    assert list(found["m"]) == ["weight", "bias"]
    np.testing.assert_array_equal(found["m"]["weight"], m.weight.jax())
    assert found["rest"][:2] == [1, None]
    assert type(found["rest"][2]) is np.ndarray


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_dtypes_are_taken_by_numpy_and_jax(dtype):
    expected = dtype.numpy
    assert np.dtype(dtype) == expected
    assert np.zeros(2, dtype=dtype).dtype == expected
    assert np.ones(2).astype(dtype).dtype == expected
    assert jnp.zeros(2, dtype).dtype == expected
    assert jnp.ones(2).astype(dtype).dtype == expected
    assert jnp.issubdtype(dtype, jnp.floating) is dtype.is_floating_point
    assert jax.ShapeDtypeStruct((2,), dtype).dtype == expected


def test_dtypes_that_are_only_names_say_so_to_numpy():
    with pytest.raises(NotImplementedError, match="quantized"):
        np.dtype(torch.quint8)


def test_shape_and_dtype_of_a_tensor_for_jax():
    t = torch.rand(2, 3)
    zeros = jnp.zeros_like(t)
    assert (zeros.shape, zeros.dtype) == ((2, 3), jnp.float32)
    assert jnp.ones_like(t, dtype=torch.float16).dtype == jnp.float16
    assert jnp.result_type(t, jnp.bfloat16) == jnp.float32
