"""Masked tensors in compiled programs and files, and where they differ from PyTorch."""

from __future__ import annotations

import copy
import pickle

import pytest

import torchlike as torch
from torchlike.masked import as_masked_tensor, masked_tensor

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")
DATA = torch.tensor([[1.0, 2, 3], [4, 5, 6]])
MASK = torch.tensor([[True, False, True], [True, True, False]])


def test_jit():
    f = torch.jit(lambda m: (m * 2).sin())
    m = masked_tensor(DATA, MASK)
    found = f(m)
    assert torch.equal(found.get_mask(), MASK)
    torch.testing.assert_close(found.to_tensor(0), torch.where(MASK, (DATA * 2).sin(), 0))
    f(masked_tensor(DATA + 1, ~MASK))
    assert f.compiles == 1


def test_gradients_through_jit():
    data = DATA.clone().requires_grad_()
    torch.jit(lambda d, m: as_masked_tensor(d, m).square().sum().get_data())(data, MASK).backward()
    torch.testing.assert_close(data.grad, torch.where(MASK, 2 * DATA, 0))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies(again):
    m = masked_tensor(DATA, MASK, requires_grad=True)
    found = again(m)
    assert found.requires_grad
    assert torch.equal(found.get_mask(), MASK)
    assert torch.equal(found.get_data(), DATA)


def test_functions_count_what_a_mask_shows():
    m = masked_tensor(DATA, MASK)
    torch.testing.assert_close(torch.masked.mean(m, 1), torch.tensor([2.0, 4.5]))
    torch.testing.assert_close(torch.masked.var(m, 1), torch.tensor([2.0, 0.5]))
    more = torch.tensor([True, True, False])
    torch.testing.assert_close(torch.masked.sum(m, 1, mask=more), torch.tensor([1.0, 9.0]))


def test_more_rules_than_pytorch():
    m = masked_tensor(DATA, MASK)
    assert [row.get_mask().tolist() for row in m] == MASK.tolist()
    assert m.permute(1, 0).shape == (3, 2)
    assert torch.relu(-m).to_tensor(9).tolist() == [[0, 9, 0], [0, 0, 9]]
    torch.testing.assert_close((2 - m).to_tensor(0), torch.where(MASK, 2 - DATA, 0))


def test_hooks():
    m = masked_tensor(DATA, MASK, requires_grad=True)
    m.register_hook(lambda g: g * 3)
    m.sum().backward()
    torch.testing.assert_close(m.grad.to_tensor(0), MASK * 3.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.sort(),
        lambda m: torch.fft.fft(m),
        lambda m: m @ m,
        lambda m: m.T,
        lambda m: m.to_sparse().sum(0),
    ],
)
def test_refused(call):
    with pytest.raises(NotImplementedError):
        call(masked_tensor(DATA, MASK))
