"""``x[mask]`` of small tensors, in one step and by the general way."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._ops.indexing.host_masks import chosen

X = [[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]
MASKS = {"each": lambda x: x > 0, "rows": lambda x: torch.tensor([False, True])}


@pytest.mark.parametrize("name", MASKS)
def test_elements_are_numpys(name):
    x = torch.tensor(X)
    mask = MASKS[name](x)
    expected = np.asarray(X, np.float32)[mask.numpy()]
    found = chosen(torch.tensor(X), torch.tensor(mask.tolist()))
    assert found is not None
    for result in (found, x[mask], x.t()[mask.t()] if mask.dim() == 2 else x[mask]):
        assert result.dtype is torch.float32
        assert sorted(result.flatten().tolist()) == sorted(expected.flatten().tolist())
    np.testing.assert_array_equal(x[mask].numpy(), expected)
    found[:] = 0  # a copy
    assert x.tolist() == X


def test_nothing_chosen_is_an_empty_tensor():
    x = torch.tensor(X)
    assert x[x > 9].shape == (0,)
    assert x[torch.tensor([False, False])].shape == (0, 3)


def test_what_is_recorded_or_seen_takes_the_general_way():
    x = torch.tensor(X, requires_grad=True)
    mask = torch.tensor(X) > 0
    assert chosen(x, mask) is None
    (2 * x[mask]).sum().backward()
    assert x.grad.tolist() == [[2, 0, 2], [0, 2, 0]]
    with torch.no_grad():
        assert not x[mask].requires_grad
    with torch.inference_mode():
        assert x[mask].is_inference()
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Mode():
        assert x.detach()[mask].tolist() == [1, 3, 5]
    assert "__getitem__" in seen


def test_a_mask_of_another_shape_or_dtype_is_told_as_ever():
    x = torch.tensor(X)
    with pytest.raises(IndexError, match=r"shape of the mask \[3\] at index 0"):
        x[torch.tensor([True, False, True])]
    with pytest.warns(UserWarning, match=r"torch\.uint8 is now deprecated"):
        assert x[torch.tensor([1, 0], dtype=torch.uint8)].tolist() == [X[0]]
