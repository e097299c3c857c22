"""On which device results are, and what comes of moving: on an accelerator or its stand-in."""

from __future__ import annotations

import io

import pytest

import torchlike as torch


def there(device, *shape):
    return torch.ones(*(shape or (3,)), device=device)


#: What is on the accelerator, made of tensors there (and numbers or indices on the CPU).
THERE = {
    "ones": lambda d: there(d),
    "tensor": lambda d: torch.tensor([1.0, 2.0], device=d),
    "arange": lambda d: torch.arange(3, device=d),
    "randn": lambda d: torch.randn(3, device=d),
    "randperm": lambda d: torch.randperm(5, device=d),
    "normal_": lambda d: there(d).normal_(),
    "bernoulli": lambda d: torch.bernoulli(there(d) / 2),
    "multinomial": lambda d: torch.multinomial(there(d), 2),
    "poisson": lambda d: torch.poisson(there(d)),
    "dropout": lambda d: torch.nn.functional.dropout(there(d)),
    "a number of the CPU's": lambda d: there(d) + torch.tensor(2.0),
    "a number of the CPU's, first": lambda d: torch.tensor(2.0) * there(d),
    "indices of the CPU's": lambda d: there(d)[torch.tensor([0, 2])],
    "a mask of the CPU's": lambda d: there(d)[torch.tensor([True, False, True])],
    "unique": lambda d: torch.tensor([3, 1, 1], device=d).unique(return_counts=True)[1],
    "bincount": lambda d: torch.bincount(torch.tensor([0, 1, 1], device=d)),
    "nonzero": lambda d: there(d).nonzero(),
    "repeat_interleave": lambda d: torch.repeat_interleave(torch.tensor([1, 2], device=d)),
    "a view written": lambda d: there(d, 2, 2)[0].fill_(4),
    "to": lambda d: torch.ones(2).to(d),
    "to, a dtype too": lambda d: torch.ones(2).to(d, torch.float64),
    "to another's": lambda d: torch.ones(2).to(there(d)),
    "copy_": lambda d: there(d).copy_(torch.arange(3.0)),
    "new_zeros": lambda d: there(d).new_zeros(2),
    "a parameter": lambda d: torch.nn.Linear(2, 3, device=d).weight,
    "a module moved": lambda d: torch.nn.Linear(2, 3).to(d).weight,
    "orthogonal_": lambda d: torch.nn.init.orthogonal_(torch.empty(3, 3, device=d)),
    "a sample": lambda d: torch.distributions.Normal(torch.zeros(2, device=d), 1.0).sample(),
    "categories": lambda d: torch.distributions.Categorical(there(d) / 3).sample(),
    "pad_sequence": lambda d: torch.nn.utils.rnn.pad_sequence([there(d), there(d, 2)]),
    "vmap": lambda d: torch.func.vmap(lambda x: x * 2)(there(d)),
    "grad": lambda d: torch.func.grad(lambda x: (x * 2).sum())(there(d)),
    "sparse": lambda d: there(d).to_sparse().to_dense(),
    "jit": lambda d: torch.jit(lambda x: x * 2 + torch.tensor(1.0))(there(d)),
    "jit of nothing": lambda d: torch.jit(lambda: torch.zeros(2, device=d))(),
    "jit that moves": lambda d: torch.jit(lambda x: x.to(d) * 2)(torch.ones(3)),
    "jit that asks": lambda d: torch.jit(lambda x: torch.zeros(3, device=x.device))(there(d)),
}
#: What stays on the CPU beside an accelerator.
HERE = {
    "ones": lambda d: torch.ones(2) + 1,
    "number": lambda d: torch.tensor(1.0),
    "randn": lambda d: torch.randn(2),
    "back": lambda d: there(d).cpu(),
    "copied back": lambda d: torch.zeros(3).copy_(there(d)),
    "dropout": lambda d: torch.nn.functional.dropout(torch.ones(4)),
    "poisson": lambda d: torch.poisson(torch.ones(3)),
    "unique": lambda d: torch.tensor([2, 1, 1]).unique(),
    "jit": lambda d: torch.jit(lambda x: x * 2)(torch.ones(3)),
    "jit of nothing": lambda d: torch.jit(lambda: torch.zeros(2))(),
    "jit with dropout": lambda d: torch.jit(torch.nn.functional.dropout)(torch.ones(3)),
    "grad": lambda d: torch.func.grad(lambda x: (x * 2).sum())(torch.ones(3)),
    "batches": lambda d: next(iter(torch.utils.data.DataLoader(torch.arange(4), 2))),
}


@pytest.mark.parametrize("name", THERE)
def test_there(name, device):
    assert THERE[name](device).device.type == device


@pytest.mark.parametrize("name", HERE)
def test_here(name, device):
    assert HERE[name](device).device.type == "cpu"


def test_gradients_go_back_to_where_the_leaf_is(device):
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True, device=device)
    (x.to(device) * y).cpu().sum().backward()
    assert x.grad.device.type == "cpu"
    assert y.grad.device.type == device
    z = torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad((z.to(device) ** 3).sum(), z, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), z)
    assert second.device.type == "cpu"
    assert second.tolist() == [6.0, 6.0]


def test_a_tensor_that_is_there_is_itself(device):
    x = there(device)
    assert x.to(device) is x
    assert x.to(torch.device(device, 0)) is x
    assert x.cpu().to("cpu").tolist() == [1.0, 1.0, 1.0]


def test_strides_are_kept(device):
    x = torch.ones(2, 3).t().to(device)
    assert x.stride() == (1, 3)
    assert x.cpu().stride() == (1, 3)


REFUSED = {
    "+": lambda d: there(d) + torch.ones(3),
    "matmul": lambda d: there(d, 2, 2) @ torch.ones(2, 2),
    "a module": lambda d: torch.nn.Linear(2, 2).to(d)(torch.ones(1, 2)),
    "cat": lambda d: torch.cat([there(d), torch.ones(1)]),
    "add_": lambda d: there(d).add_(torch.ones(3)),
    "out=": lambda d: torch.add(there(d), 1, out=torch.ones(3)),
    "where": lambda d: torch.where(there(d) > 0, torch.ones(3), there(d)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_two_devices_are_refused(name, device):
    words = f"at least two devices, .*({device}:0 and cpu|cpu and {device}:0)"
    with pytest.raises(RuntimeError, match=f"on the same device, but found {words}"):
        REFUSED[name](device)


def test_indices_elsewhere_are_refused(device):
    with pytest.raises(RuntimeError, match="either on cpu or on the same device as the indexed"):
        torch.ones(2)[torch.tensor([0], device=device)]


def test_numpy_takes_none_from_there(device):
    with pytest.raises(TypeError, match=r"can't convert .* device type tensor to numpy"):
        there(device).numpy()


def test_files_say_where_tensors_were(device):
    if device != "cuda":
        pytest.skip("PyTorch's files know no other accelerator")
    file = io.BytesIO()
    torch.save({"x": there(device)}, file)
    file.seek(0)
    assert torch.load(file)["x"].device == torch.device("cuda", 0)
    file.seek(0)
    assert torch.load(file, map_location="cpu")["x"].device == torch.device("cpu")
