"""scatter and its kin against a plain loop; index_add, index_copy, index_fill, put."""

import numpy as np
import pytest

import torchlike as torch

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
INDEX = torch.tensor([[0, 1, 1], [0, 0, 1]])
SOURCE = torch.tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])

_COMBINE = {
    "sum": lambda old: sum(old),
    "prod": lambda old: np.prod(old),
    "amax": lambda old: max(old),
    "amin": lambda old: min(old),
    "mean": lambda old: sum(old) / len(old),
}


def by_hand(reduce: str, include_self: bool) -> np.ndarray:
    result = X.numpy().copy()
    for r in range(2):
        for c in range(3):
            values = [float(SOURCE[k, c]) for k in range(2) if int(INDEX[k, c]) == r]
            if values:
                result[r, c] = _COMBINE[reduce](([float(X[r, c])] if include_self else []) + values)
    return result


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", list(_COMBINE))
def test_scatter_reduce_is_the_loop(run, reduce, include_self) -> None:
    found = run(
        lambda x, i, s: x.scatter_reduce(0, i, s, reduce, include_self=include_self),
        X,
        INDEX,
        SOURCE,
    )
    np.testing.assert_allclose(found.numpy(), by_hand(reduce, include_self), rtol=1e-6)


def test_the_last_of_several_writes_wins_and_all_get_the_gradient(run) -> None:
    def step(x, source):
        x, source = x.detach().requires_grad_(), source.detach().requires_grad_()
        out = x.scatter(0, INDEX, source)
        out.sum().backward()
        return out.detach(), x.grad, source.grad

    out, grad, grad_source = run(step, X, SOURCE)
    np.testing.assert_array_equal(out.numpy(), [[40, 50, 3], [4, 20, 60]])
    np.testing.assert_array_equal(grad.numpy(), [[0, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(grad_source.numpy(), np.ones((2, 3)))


def test_a_product_with_zeros_has_the_right_gradient(run) -> None:
    def step(x, source):
        x, source = x.detach().requires_grad_(), source.detach().requires_grad_()
        x.scatter_reduce(0, torch.tensor([0, 0, 1]), source, "prod").sum().backward()
        return x.grad, source.grad

    grad, grad_source = run(step, torch.tensor([2.0, 0.0]), torch.tensor([0.0, 3.0, 5.0]))
    np.testing.assert_array_equal(grad.numpy(), [0, 5])
    np.testing.assert_array_equal(grad_source.numpy(), [6, 0, 0])


def test_one_hot_by_scatter_in_place() -> None:
    labels = torch.tensor([[2], [0]])
    hot = torch.zeros(2, 3)
    assert hot.scatter_(1, labels, 1) is hot
    assert hot.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_slices_of_a_dimension(run) -> None:
    at = torch.tensor([1, 1])
    added = run(lambda x, s: x.index_add(0, at, s, alpha=2), X, SOURCE)
    np.testing.assert_array_equal(added.numpy(), X.numpy() + [[0, 0, 0], [100, 140, 180]])
    copied = run(lambda x, s: x.index_copy(0, torch.tensor([1, 0]), s), X, SOURCE)
    np.testing.assert_array_equal(copied.numpy(), SOURCE.numpy()[::-1])
    filled = run(lambda x: x.index_fill(1, torch.tensor([-1]), 0), X)
    np.testing.assert_array_equal(filled.numpy(), [[1, 2, 0], [4, 5, 0]])
    put = run(lambda x: x.put(torch.tensor([0, -1]), torch.tensor([7.0, 8.0])), X)
    np.testing.assert_array_equal(put.numpy(), [[7, 2, 3], [4, 5, 8]])


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda: X.scatter(0, torch.tensor([[2, 0, 0]]), 1.0), RuntimeError),
        (lambda: X.clone().scatter_add_(0, torch.tensor([[2, 0, 0]]), SOURCE[:1]), RuntimeError),
        (lambda: X.index_add(0, torch.tensor([2]), SOURCE[:1]), RuntimeError),
        (lambda: X.index_copy(0, torch.tensor([2]), SOURCE[:1]), IndexError),
        (lambda: X.index_fill(0, torch.tensor([2]), 1.0), IndexError),
        (lambda: X.put(torch.tensor([6]), torch.ones(1)), IndexError),
        (lambda: X.index_put((torch.tensor([2]),), torch.tensor(1.0)), IndexError),
    ],
)
def test_an_index_out_of_range_is_an_error(function, error) -> None:
    with pytest.raises(error, match="out of"):
        function()


def test_second_gradients_of_a_product_with_one_zero():
    """Of x * a * b, with x = 0: the mixed derivatives are a and b."""
    x = torch.tensor([0.0, 0.0], dtype=torch.float64, requires_grad=True)
    factors = torch.tensor([2.0, 3.0, 0.0], dtype=torch.float64, requires_grad=True)
    product = x.index_reduce(0, torch.tensor([0, 0, 1]), factors, "prod")
    first = torch.autograd.grad(product.sum(), factors, create_graph=True)[0]
    assert first.tolist() == [0, 0, 0]
    second = torch.autograd.grad(first.sum(), [x, factors])
    assert second[0].tolist() == [2 + 3, 1]
    assert second[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("compiled", [False, True])
def test_extremes_by_their_short_names(compiled):
    def both(x, index, src):
        return x.scatter_reduce(0, index, src, "max"), x.scatter_reduce(0, index, src, "min")

    given = torch.tensor([5, 2]), torch.tensor([0, 0]), torch.tensor([3, 7])
    most, least = (torch.jit(both) if compiled else both)(*given)
    assert (most.tolist(), least.tolist()) == ([7, 2], [3, 2])
