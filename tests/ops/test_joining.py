"""cat, stack, meshgrid and their kin against NumPy, eager and compiled."""

import numpy as np
import pytest

import torchlike as torch

A = torch.arange(6.0).reshape(2, 3)
B = torch.arange(6).reshape(2, 3)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (torch.cat, np.concatenate),
        (torch.stack, np.stack),
        (torch.hstack, np.hstack),
        (torch.vstack, np.vstack),
        (torch.dstack, np.dstack),
        (torch.column_stack, np.column_stack),
    ],
)
def test_joins_as_numpy_does(run, ours, theirs) -> None:
    found = run(lambda x, y: ours([x, y]), A, B)
    np.testing.assert_array_equal(found.numpy(), theirs([A.numpy(), B.numpy()]))
    assert found.dtype is torch.float32  # int64 joins a float without widening it


def test_cat_sends_each_part_its_gradient(run) -> None:
    def step(x, y):
        x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
        (torch.cat([x, y], 1) * torch.arange(12.0).reshape(2, 6)).sum().backward()
        return x.grad, y.grad

    left, right = run(step, A, B.float())
    np.testing.assert_array_equal(left.numpy(), [[0, 1, 2], [6, 7, 8]])
    np.testing.assert_array_equal(right.numpy(), [[3, 4, 5], [9, 10, 11]])


def test_cat_keeps_channels_last() -> None:
    x = torch.zeros(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)
    assert torch.cat([x, x]).is_contiguous(memory_format=torch.channels_last)
    assert torch.cat([x, torch.zeros(2, 3, 4, 4)]).is_contiguous()


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid_gives_numpys_grids_as_views(indexing) -> None:
    x, y = torch.arange(2.0), torch.arange(3.0)
    found = torch.meshgrid(x, y, indexing=indexing)
    for ours, theirs in zip(found, np.meshgrid([0, 1], [0, 1, 2], indexing=indexing), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    assert found[0].data_ptr() == x.data_ptr()


def test_block_diag_and_products() -> None:
    found = torch.block_diag(torch.ones(1, 2), torch.ones(2, 1))
    np.testing.assert_array_equal(found.numpy(), [[1, 1, 0], [0, 0, 1], [0, 0, 1]])
    assert torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])).tolist() == [
        [1, 3],
        [1, 4],
        [2, 3],
        [2, 4],
    ]
    assert torch.combinations(torch.tensor([1, 2, 3])).tolist() == [[1, 2], [1, 3], [2, 3]]


def test_joining_refuses_what_does_not_fit() -> None:
    with pytest.raises(RuntimeError, match="Sizes of tensors must match except in dimension 0"):
        torch.cat([A, torch.zeros(1, 2)])
    with pytest.raises(TypeError, match="expected Tensor as element 1 in argument 0"):
        torch.cat([A, 1])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        torch.stack([A, A[0]])
    with pytest.raises(RuntimeError, match=r"Shape mismatch|broadcast"):
        torch.broadcast_shapes((2, 3), (4,))


def test_tensors_of_the_common_shape_are_given_back() -> None:
    a, b = torch.ones(2, 3), torch.zeros(3)
    first, second = torch.broadcast_tensors(a, b)
    assert first is a
    assert second.shape == (2, 3)
    assert second.data_ptr() == b.data_ptr()
