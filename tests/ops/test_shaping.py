"""repeat, flip, roll, rot90, repeat_interleave, diff against NumPy, eager and compiled."""

import numpy as np
import pytest

import torchlike as torch

X = torch.arange(6.0).reshape(2, 3)
N = X.numpy().copy()


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda x: x.repeat(2, 3), np.tile(N, (2, 3))),
        (lambda x: torch.tile(x, (2,)), np.tile(N, 2)),
        (lambda x: x.repeat_interleave(2, 1), np.repeat(N, 2, 1)),
        (lambda x: x.repeat_interleave(2), np.repeat(N, 2)),
        (lambda x: x.flip(0, 1), N[::-1, ::-1]),
        (lambda x: x.fliplr(), np.fliplr(N)),
        (lambda x: x.roll((1, -1), (0, 1)), np.roll(N, (1, -1), (0, 1))),
        (lambda x: x.roll(2), np.roll(N, 2)),
        (lambda x: x.rot90(), np.rot90(N)),
        (lambda x: x.rot90(-1), np.rot90(N, -1)),
        (lambda x: x.diff(), np.diff(N)),
        (lambda x: x.sum_to_size(1, 3), N.sum(0, keepdims=True)),
        (lambda x: x.tril(), np.tril(N)),
        (lambda x: x.triu(1), np.triu(N, 1)),
        (lambda x: x.diag(), np.diag(N)),
        (lambda x: torch.diag(x[0], 1), np.diag(N[0], 1)),
        (lambda x: x.trace(), np.trace(N)),
        (lambda x: torch.diag_embed(x)[1], np.diag(N[1])),
        (lambda x: torch.hsplit(x, [1])[1], N[:, 1:]),
    ],
)
def test_same_as_numpy(run, ours, theirs) -> None:
    np.testing.assert_array_equal(run(ours, X).numpy(), theirs)


def test_counts_that_differ() -> None:
    counts = torch.tensor([1, 3])
    np.testing.assert_array_equal(
        X.repeat_interleave(counts, 0).numpy(), np.repeat(N, counts.numpy(), 0)
    )
    assert torch.repeat_interleave(counts).tolist() == [0, 1, 1, 1]
    sized = torch.jit(lambda x, c: x.repeat_interleave(c, 0, output_size=4))(X, counts)
    np.testing.assert_array_equal(sized.numpy(), np.repeat(N, counts.numpy(), 0))


def test_triangles_as_indices() -> None:
    np.testing.assert_array_equal(torch.tril_indices(3, 4).numpy(), np.tril_indices(3, 0, 4))
    np.testing.assert_array_equal(torch.triu_indices(3, 3, 1).numpy(), np.triu_indices(3, 1))


def test_in_place_and_scatter_forms() -> None:
    x = X.clone()
    assert x.triu_() is x
    np.testing.assert_array_equal(x.numpy(), np.triu(N))
    np.testing.assert_array_equal(
        torch.select_scatter(X, torch.zeros(3), 0, 1).numpy(), [[0, 1, 2], [0, 0, 0]]
    )
    with pytest.raises(RuntimeError, match="expected src to have a size equal to the slice"):
        torch.select_scatter(X, torch.zeros(2), 0, 1)
