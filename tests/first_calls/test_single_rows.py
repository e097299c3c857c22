"""Products with one row and rows of tables stay with NumPy, however large the other operand is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike._runtime.first_calls import cost


def most_steps(function, *shapes, dtype=np.float32):
    closed = jax.make_jaxpr(function)(*(jnp.zeros(shape, dtype) for shape in shapes))
    return cost.worth(closed.jaxpr).most_steps


def is_on_host(tensor):
    return type(tensor._storage.cell) is np.ndarray


@pytest.mark.parametrize("shape", [(1, 300), (300,), (4, 1, 300)])
def test_a_matrix_that_multiplies_one_row_does_not_count_as_large(shape):
    assert most_steps(jnp.matmul, shape, (*shape[:-2][:1], 300, 400)) > 0


def test_more_rows_halves_and_other_readers_do():
    assert most_steps(jnp.matmul, (2, 300), (300, 400)) < 0
    assert most_steps(jnp.matmul, (1, 300), (300, 400), dtype=jnp.bfloat16) < 0
    assert most_steps(lambda x, w: (x @ w, w.sum()), (1, 300), (300, 400)) < 0
    assert most_steps(lambda x, w: (x @ w, w.T), (1, 300), (300, 400)) < 0


def test_a_model_of_one_row_stays_on_the_host(monkeypatch):
    monkeypatch.setattr(cost, "_MOST_CALLS", 3)
    layer, table = torch.nn.Linear(301, 401), torch.nn.Embedding(501, 301)
    with torch.no_grad():
        for _ in range(5):
            row = table(torch.tensor([3]))
            found = layer(row)
            large = layer(torch.zeros(40, 301))
    assert (is_on_host(row), is_on_host(found), is_on_host(large)) == (True, True, False)
    expected = row.numpy() @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)
