"""What a compiled function gives back besides tensors: registered classes, objects of its own."""

import abc
import dataclasses
import warnings
from collections import OrderedDict

import pytest

import torchlike as torch
from torchlike.utils import _pytree


class Fields(OrderedDict):
    """A dictionary that is also a dataclass: each value has two places."""

    def __init__(self, **fields):
        super().__init__(fields)
        vars(self).update(fields)


_pytree.register_pytree_node(
    Fields,
    lambda x: (list(x.values()), list(x)),
    lambda values, names: Fields(**dict(zip(names, values, strict=True))),
)


class Layer(abc.ABC):  # noqa: B024 - for its empty __slots__
    def __init__(self):
        self.keys = None
        self.length = 0

    def put(self, x):
        self.keys = x if self.keys is None else torch.cat([self.keys, x])
        self.length += x.shape[0]


class Cache:
    def __init__(self, config):
        self.config = config
        self.layers = [Layer(), Layer()]
        self.by_name = {"first": torch.zeros(1)}


CONFIG = Layer()


def make(x):
    cache = Cache(CONFIG)
    for layer in cache.layers:
        layer.put(x * 2)
        layer.put(x)
    return Fields(loss=(x * x).sum(), cache=cache)


@pytest.mark.parametrize("compiled", [False, True])
def test_results_are_new_objects_with_this_call_s_values(compiled):
    f = torch.jit(make) if compiled else make
    before = []
    for value in (1.0, 2.0, 3.0):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = f(torch.full((2,), value))
        assert type(found) is Fields
        assert found["loss"].item() == found.loss.item() == 2 * value**2
        cache = found.cache
        assert (type(cache), cache.config, found["cache"]) == (Cache, CONFIG, cache)
        assert [type(x) for x in cache.layers] == [Layer, Layer]
        assert cache.layers[1].keys.tolist() == [2 * value, 2 * value, value, value]
        assert (cache.layers[1].length, cache.by_name["first"].item()) == (4, 0)
        assert not any(cache is other or cache.layers[0] is other.layers[0] for other in before)
        cache.layers[0].keys.add_(1)
        before.append(cache)
    if compiled:
        assert f.compiles == 1


def test_gradients_flow_through_the_fields():
    f = torch.jit(make)
    for _ in range(2):
        x = torch.ones(2, requires_grad=True)
        found = f(x)
        (found["loss"] + found.cache.layers[0].keys.sum()).backward()
        assert x.grad.tolist() == [5.0, 5.0]


def test_registered_arguments_are_opened():
    @torch.jit
    def f(fields):
        return Fields(y=fields["x"] * fields.scale)

    for value in (1.0, 2.0):
        assert f(Fields(x=torch.full((2,), value), scale=3)).y.tolist() == [3 * value] * 2
    assert f.compiles == 1
    assert f(Fields(x=torch.ones(2), scale=4))["y"].tolist() == [4.0, 4.0]


@dataclasses.dataclass
class Pair:
    one: object
    two: object


def test_an_object_that_stands_twice_in_a_result_is_not_split():
    @torch.jit
    def f(x):
        layer = Layer()
        layer.put(x)
        return Pair(layer, layer)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in (1.0, 2.0, 3.0, 4.0):
            found = f(torch.full((2,), value))
            assert found.one.keys.tolist() == [value] * 2


def _made(x):
    return torch.zeros(2, requires_grad=True)


def _copied(x):
    return x.clone().requires_grad_()


def _alias(x):
    return x.detach().requires_grad_()


def _parameter(x):
    return torch.nn.Parameter(x.clone())


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("make", [_made, _copied, _alias, _parameter])
def test_a_leaf_that_was_made_inside_keeps_its_gradient(make):
    @torch.jit
    def f(x):
        leaf, other = make(x), make(x)
        (leaf * x).sum().backward()
        (leaf * other.detach() + other * 2).sum().backward()
        return leaf, {"g": other.grad}, other

    before = None
    for k in range(4):
        x = torch.arange(2.0) + k
        leaf, held, other = f(x)
        assert leaf.grad.tolist() == (x + other.detach()).tolist()
        assert other.grad.tolist() == [2, 2]
        assert held["g"] is other.grad
        assert leaf.is_leaf
        assert leaf.grad is not before
        before = leaf.grad
        (leaf * 3).sum().backward()
        assert leaf.grad is before
        assert before.tolist() == (x + other.detach() + 3).tolist()
    assert f.compiles == 1


def test_a_result_keeps_what_it_was_given():
    @torch.jit
    def f(x, k):
        y = x * 2
        y.scale, y.aux = k, x + 1
        weight = torch.nn.Parameter(y.detach())
        weight.no_decay = True
        return y, [weight]

    for k in range(3):
        x = torch.ones(2) * k
        y, (weight,) = f(x, 0.5)
        assert y.scale == 0.5
        assert y.aux.tolist() == [k + 1, k + 1]
        assert weight.no_decay is True
    assert f.compiles == 1


def test_a_leaf_with_hooks_is_refused():
    def f(x):
        leaf = x.clone().requires_grad_()
        leaf.register_hook(lambda g: g * 10)
        return leaf

    with pytest.raises(torch.jit.JitCaptureError, match="leaf that has hooks"):
        torch.jit(f)(torch.ones(2))
