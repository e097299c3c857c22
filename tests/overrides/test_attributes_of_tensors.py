"""``__dict__`` of a tensor: what was set on it, which libraries copy to another, and no more."""

import copy
import pickle

import pytest

import torchlike as torch


class Noted:
    """Has a ``__dict__`` of its own, and is no tensor."""


class Tagged(Noted, torch.Tensor):
    pass


def tagged(**attributes):
    t = (torch.arange(6.0).view(2, 3) * 1).as_subclass(Tagged)
    for name, value in attributes.items():
        setattr(t, name, value)
    return t


@pytest.mark.parametrize("made", [lambda: torch.ones(2), lambda: torch.nn.Parameter(torch.ones(2))])
def test_a_tensor_has_none_of_its_own(made):
    t = made()
    assert vars(t) == {}
    t.tag = "x"
    assert vars(t) == {"tag": "x"}
    assert isinstance(t.__dict__, dict)
    assert "tag" in dir(t)


@pytest.mark.parametrize(
    "carry",
    [
        lambda new, old: setattr(new, "__dict__", old.__dict__),
        lambda new, old: setattr(new, "__dict__", copy.copy(old.__dict__)),
        lambda new, old: setattr(new, "__dict__", copy.deepcopy(vars(old))),
        lambda new, old: new.__dict__.update(old.__dict__),
        lambda new, old: new.__dict__.update({**old.__dict__}),
        lambda new, old: vars(new).setdefault("spacing", vars(old)["spacing"]),
    ],
)
@pytest.mark.parametrize("plain", [False, True])
def test_attributes_are_carried_over_and_nothing_else(carry, plain):
    old, x = tagged(spacing=[1, 2]), torch.ones(3, requires_grad=True)
    new = 2 * x if plain else (2 * x).as_subclass(Tagged)
    carry(new, old)
    assert new.spacing == [1, 2]
    assert new.shape == (3,)
    new.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_what_is_written_is_set():
    t = tagged(a=1, b=2)
    t.__dict__["c"] = 3
    assert (t.c, t.__dict__.pop("a"), t.__dict__.pop("none", 0)) == (3, 1, 0)
    del t.__dict__["b"]
    assert not hasattr(t, "a")
    assert not hasattr(t, "b")
    assert t.__dict__.popitem() == ("c", 3)
    t.__dict__ |= {"d": 4}
    assert (vars(t), t.d) == ({"d": 4}, 4)
    vars(t).clear()
    assert vars(t) == {}
    assert t.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_copies_and_pickles_have_them():
    t = tagged(spacing=[1, 2])
    for other in (copy.copy(t), copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert (vars(other), other.tolist()) == ({"spacing": [1, 2]}, t.tolist())
    assert type(pickle.loads(pickle.dumps(vars(t)))) is dict


def test_a_compiled_function_sees_gradients_of_leaves_with_attributes():
    t = tagged().detach().as_subclass(Tagged).requires_grad_()
    t.scale = 2.0

    @torch.jit
    def step(x):
        (x.as_subclass(torch.Tensor) * t.scale).sum().backward()
        return x.grad * 1

    for i in range(1, 4):
        assert step(t).tolist() == [[2.0 * i] * 3] * 2
    t.scale = 3.0
    assert step(t).tolist() == [[9.0] * 3] * 2
