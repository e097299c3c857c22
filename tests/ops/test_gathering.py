"""gather, index_select, take: values, and indices out of range."""

import numpy as np
import pytest

import torchlike as torch

X = torch.arange(12.0).reshape(3, 4)
ROWS = torch.tensor([[0, 2, 1, 0], [2, 2, 0, 1]])


def test_reads_what_numpy_reads(run) -> None:
    found = run(lambda x, i: x.gather(0, i), X, ROWS)
    np.testing.assert_array_equal(found.numpy(), np.take_along_axis(X.numpy(), ROWS.numpy(), 0))
    picks = torch.tensor([3, 0, 3])
    found = run(lambda x, i: x.index_select(1, i), X, picks)
    np.testing.assert_array_equal(found.numpy(), X.numpy()[:, [3, 0, 3]])
    assert run(lambda x, i: x.take(i), X, torch.tensor([5, -1])).tolist() == [5, 11]


def test_the_gradient_adds_up_where_an_index_repeats(run) -> None:
    def step(x):
        x = x.detach().requires_grad_()
        x.gather(0, ROWS).sum().backward()
        return x.grad

    counts = np.zeros((3, 4))
    for i, column in np.ndenumerate(ROWS.numpy()):
        counts[column, i[1]] += 1
    np.testing.assert_array_equal(run(step, X).numpy(), counts)


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (
            lambda: X.gather(0, torch.tensor([[3, 0, 0, 0]])),
            RuntimeError,
            "index 3 is out of bounds for dimension 0 with size 3",
        ),
        (lambda: X.gather(0, torch.tensor([[-1, 0, 0, 0]])), RuntimeError, "index -1 is out of"),
        (
            lambda: X.index_select(1, torch.tensor([4])),
            RuntimeError,
            "INDICES element is out of DATA bounds, id=4 axis_dim=4",
        ),
        (lambda: X.take(torch.tensor([12])), IndexError, "tried to access index 12"),
        (lambda: X.take_along_dim(torch.tensor([[7]]), 1), RuntimeError, "index 7 is out of"),
    ],
)
def test_an_index_out_of_range_is_an_error_not_a_clamp(function, error, words) -> None:
    with pytest.raises(error, match=words):
        function()


def test_a_program_without_checks_shows_an_index_out_of_range_as_nan() -> None:
    found = torch.jit(lambda x, i: x.index_select(0, i), checks=False)(X, torch.tensor([5]))
    assert torch.isnan(found).all()
