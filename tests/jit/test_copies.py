"""Copies and pickles of jitted functions: of what they compile, not of the programs."""

import copy
import pickle

import pytest

import torchlike as torch


@torch.jit
def decorated(x):
    return x * 2


class Stepping(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.step = torch.jit(self.forward)

    def forward(self, x):
        return x * self.weight


def by_pickle(x):
    return pickle.loads(pickle.dumps(x))


@pytest.mark.parametrize("copied", [copy.deepcopy, by_pickle])
def test_a_jitted_module_has_a_module_of_its_own(copied):
    linear = torch.nn.Linear(2, 1)
    f, x = torch.jit(linear, max_programs=3), torch.ones(1, 2)
    f.note = "kept"
    f(x)
    g = copied(f)
    before = linear(x).tolist()
    with torch.no_grad():
        linear.weight.fill_(0)
        linear.bias.fill_(0)
    assert f(x).tolist() == [[0]]
    assert g(x).tolist() == before
    assert (f.compiles, g.compiles, g.note, g.forward._cache.most) == (1, 1, "kept", 3)


@pytest.mark.parametrize("copied", [copy.deepcopy, by_pickle])
def test_a_module_that_holds_a_jitted_method(copied):
    model, x = Stepping(), torch.ones(2)
    model.step(x)
    other = copied(model)
    with torch.no_grad():
        other.weight.fill_(5)
    assert other.step(x).tolist() == [5, 5]
    assert model.step(x).tolist() == [1, 1]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, by_pickle])
def test_a_decorated_function_is_itself(copied):
    decorated(torch.ones(2))
    assert copied(decorated) is decorated


def test_a_copied_function_compiles_its_own():
    f = torch.jit(lambda x: x + 1)
    f(torch.ones(2))
    for g in (copy.copy(f), copy.deepcopy(f)):
        assert g(torch.ones(2)).tolist() == [2, 2]
        assert g.compiles == 1
    assert f.compiles == 1
