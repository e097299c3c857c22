"""Parameter and Buffer."""

import copy
import pickle

import pytest

import torchlike as torch
import torchlike.nn as nn


def test_a_parameter_shares_memory_and_requires_grad():
    data = torch.ones(2)
    p = nn.Parameter(data)
    assert isinstance(p, torch.Tensor)
    assert p.requires_grad
    assert p.is_leaf
    data.fill_(3)
    assert p.tolist() == [3, 3]
    assert type(p * 2) is torch.Tensor
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert nn.Parameter().shape == (0,)


def test_repr():
    assert repr(nn.Parameter(torch.ones(2))) == (
        "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    )
    assert repr(nn.Parameter(torch.ones(1), False)) == "Parameter containing:\ntensor([1.])"


def test_integers_need_requires_grad_off():
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
        nn.Parameter(torch.ones(1, dtype=torch.int64))
    assert nn.Parameter(torch.ones(1, dtype=torch.int64), False).tolist() == [1]
    with pytest.raises(TypeError, match=r"expects a torch.Tensor, not list"):
        nn.Parameter([1.0])


def test_of_a_non_leaf_it_is_a_leaf():
    x = torch.ones(2, requires_grad=True)
    p = nn.Parameter(x * 2)
    assert p.is_leaf
    (p * 3).sum().backward()
    assert p.grad.tolist() == [3, 3]
    assert x.grad is None


def test_a_subclass_of_tensor_stays_one_and_counts_as_parameter():
    class Named(torch.Tensor):
        pass

    p = nn.Parameter(Named(torch.ones(2)))
    assert type(p) is Named
    assert isinstance(p, nn.Parameter)
    assert not isinstance(Named(torch.ones(2)), nn.Parameter)
    module = nn.Module()
    module.p = p
    assert dict(module.named_parameters()) == {"p": p}


def test_copies():
    p = nn.Parameter(torch.ones(2))
    (p * 2).sum().backward()
    for made in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(made) is nn.Parameter
        assert made.requires_grad
        assert made.grad is None
        assert made.tolist() == [1, 1]
        assert made.data_ptr() != p.data_ptr()


def test_buffers():
    module = nn.Module()
    module.kept = nn.Buffer(torch.ones(2))
    module.scratch = nn.Buffer(torch.ones(1), persistent=False)
    assert [n for n, _ in module.named_buffers()] == ["kept", "scratch"]
    assert list(module.state_dict()) == ["kept"]
    assert isinstance(module.kept, nn.Buffer)
    assert not isinstance(torch.ones(1), nn.Buffer)


def test_a_parameter_of_another_s_class_and_attributes():
    p = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    p.sum()
    given = p.__dict__
    given["requires_grad"] = p.requires_grad
    made = type(p)(p.to("meta"), **given)
    assert made.is_meta
    assert not made.requires_grad
    p.name_of_mine = 1
    with pytest.raises(TypeError, match="unexpected keyword argument 'name_of_mine'"):
        torch.nn.Parameter(p, **{k: v for k, v in p.__dict__.items() if k != "requires_grad"})
