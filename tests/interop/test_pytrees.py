"""torchlike's tensors inside JAX's own transformations."""

import jax
import jax.numpy as jnp
import numpy as np

import torchlike as torch


def test_jax_functions_take_and_give_tensors():
    x = torch.tensor([1.0, 2.0])
    doubled = jax.jit(lambda t: t * 2 + 1)(x)
    assert isinstance(doubled, torch.Tensor)
    assert doubled.tolist() == [3.0, 5.0]
    tree = jax.tree.map(jnp.sum, {"a": x, "b": [x]})
    assert float(tree["a"].jax()) == 3.0


def test_jax_grad_and_vmap_over_functions_written_with_torchlike():
    def loss(w):
        return ((w * 3).exp().sum()).jax()

    w = torch.tensor([0.1, 0.2])
    gradient = jax.grad(loss)(w)
    np.testing.assert_allclose(gradient.jax(), 3 * np.exp([0.3, 0.6]), rtol=1e-5)
    rows = jax.vmap(lambda t: t.sum())(torch.arange(6.0).reshape(2, 3))
    assert rows.tolist() == [3.0, 12.0]


def test_from_jax_and_back():
    array = jnp.arange(3)
    t = torch.from_jax(array)
    t += 1
    assert array.tolist() == [0, 1, 2]
    assert t.jax().tolist() == [1, 2, 3]
    assert jnp.asarray(t).tolist() == [1, 2, 3]
