"""A write through ``.data`` to what was saved is told of in backward, once."""

import warnings

import pytest

import torchlike as torch
from torchlike.autograd import data_writes


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(data_writes, "_warned", False)
    monkeypatch.setattr(data_writes, "_looked", 0)


def _random(t):
    t.data.normal_()


def _added(t):
    t.data.add_(1.0)


def _copied(t):
    t.data.copy_(torch.ones(len(t)))


def _element(t):
    t.data[0] = 5.0


def _filled(t):
    t.data.zero_()


def _twice(t):
    other = t.data
    other.mul_(3)


WRITES = [_random, _added, _copied, _element, _filled, _twice]


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("write", WRITES)
def test_backward_tells_of_a_write_once(write, size):
    x = torch.ones(size, requires_grad=True)
    eps = torch.full((size,), 2.0)
    y = (x * eps).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(eps)
    if write is not _element:  # the node as its user sees it
        assert type(y.grad_fn.next_functions[0][0]).__name__ == "MulBackward0"
    with pytest.warns(RuntimeWarning, match=r"MulBackward0 saved a tensor.*through \.data") as told:
        y.backward()
    assert len(told) == 1
    assert x.grad.tolist() == [2] * size  # that of the value which the op was given
    (x * eps).sum().backward()


@pytest.mark.filterwarnings("error")
def test_nothing_is_told_where_nothing_was_saved():
    x, eps = torch.ones(3, requires_grad=True), torch.ones(3)
    y = (x + eps).sum()  # which saves nothing
    eps.data.normal_()
    y.backward()
    z = (x * eps).sum()
    z.backward()  # which has run before the write
    eps.data.normal_()
    x.data.add_(1)
    eps.add_(1)
    w = (x * eps).sum()
    kept = eps.data.clone()
    kept.add_(1)
    eps.add_(1)  # no write through .data: PyTorch would raise
    w.backward()
    assert not data_writes._warned


@pytest.mark.filterwarnings("error")
def test_a_copy_of_what_was_saved_may_be_written_to():
    x, h, state = torch.ones(3, requires_grad=True), torch.ones(3) * 2, torch.zeros(3)
    copy = h.clone()
    y = (x * h).sum()
    copy.data.add_(1)
    state.data.copy_(h)
    del h
    state.data.add_(1)
    y.backward()
    assert not data_writes._warned


@pytest.mark.filterwarnings("error")
def test_a_parameter_made_of_data_is_a_tensor_of_its_own():
    x = torch.ones(3)
    p = torch.nn.Parameter(x.data)
    y = (p * p).sum()
    with torch.no_grad():
        p.add_(1)
    y.backward()
    assert p.grad.tolist() == [2, 2, 2]


def test_it_looks_a_few_times_a_process():
    x = torch.ones(3, requires_grad=True)
    kept = []
    for _ in range(data_writes._MOST + 3):
        kept.append(x * x)
        x.data.add_(1)
    assert data_writes._looked == data_writes._MOST


def test_second_gradients_tell_too():
    x, eps = torch.ones(3, requires_grad=True), torch.ones(3)
    y = (x * x * eps).sum()
    _added(eps)
    with pytest.warns(RuntimeWarning, match="MulBackward0 saved"):
        torch.autograd.grad(y, x, create_graph=True)
