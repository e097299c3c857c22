"""where, masked_* and nonzero."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError

X = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])


def test_where_and_masked_fill_agree(run) -> None:
    found = run(lambda x: torch.where(x > 0, x, 0), X)
    np.testing.assert_array_equal(found.numpy(), np.where(X.numpy() > 0, X.numpy(), 0))
    np.testing.assert_array_equal(run(lambda x: x.masked_fill(x <= 0, 0), X).numpy(), found.numpy())


def test_masked_fill_keeps_the_dtype_and_stops_the_gradient(run) -> None:
    def step(x):
        x = x.detach().requires_grad_()
        filled = x.masked_fill(x > 0, torch.tensor(9.0, dtype=torch.float64))
        filled.sum().backward()
        return filled, x.grad

    filled, grad = run(step, X)
    assert filled.dtype is torch.float32
    np.testing.assert_array_equal(grad.numpy(), X.numpy() <= 0)


def test_masked_fill_in_place_writes_through_a_view() -> None:
    x = X.clone()
    x[:, 1].masked_fill_(torch.tensor([True, False]), 7.0)
    assert x.tolist() == [[1, 7, 3], [-4, 5, -6]]


def test_masked_scatter_takes_the_source_in_order(run) -> None:
    found = run(lambda x: x.masked_scatter(x < 0, torch.tensor([10.0, 20.0, 30.0])), X)
    assert found.tolist() == [[1, 10, 3], [20, 5, 30]]
    with pytest.raises(RuntimeError, match="Number of elements of source < number of ones"):
        X.masked_scatter(X < 0, torch.ones(2))


def test_results_of_changing_size() -> None:
    np.testing.assert_array_equal(X.masked_select(X > 0).numpy(), [1, 3, 5])
    assert X.gt(0).nonzero().tolist() == [[0, 0], [0, 2], [1, 1]]
    assert [t.tolist() for t in torch.where(X > 0)] == [[0, 0, 1], [0, 2, 1]]
    assert torch.tensor(3).nonzero().shape == (1, 0)
    x = X.clone().requires_grad_()
    x.masked_select(x > 0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), X.numpy() > 0)


@pytest.mark.parametrize(
    "function",
    [lambda x: x.nonzero(), lambda x: x.masked_select(x > 0), lambda x: torch.where(x > 0)],
)
def test_a_compiled_program_cannot_have_them(function) -> None:
    with pytest.raises(JitCaptureError, match="size depends on values"):
        torch.jit(function)(X)
