"""Subclasses through modules, optimizers, files, autograd and jit, as in PyTorch."""

import copy
import io
import pickle

import pytest

import torchlike
from torchlike._core import overrides

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _awake():
    overrides.enable()


class TheirKept(torch.Tensor):
    pass


class OurKept(torchlike.Tensor):
    pass


class TheirTagged(torch.Tensor):
    @staticmethod
    def __new__(cls, data, tag=None):
        made = torch.Tensor._make_subclass(cls, torch.as_tensor(data))
        made.tag = tag
        return made


class OurTagged(torchlike.Tensor):
    @staticmethod
    def __new__(cls, data, tag=None):
        made = torchlike.Tensor._make_subclass(cls, torchlike.as_tensor(data))
        made.tag = tag
        return made


def named(value):
    return type(value).__name__.removeprefix("Their").removeprefix("Our")


def saved(t, value):
    file = io.BytesIO()
    t.save(value, file)
    file.seek(0)
    return t.load(file, weights_only=False)


def trained(t, kept, optimizer):
    layer = t.nn.Linear(2, 2)
    layer.weight = t.nn.Parameter(t.ones(2, 2).as_subclass(kept))
    layer.bias.data.zero_()
    steps = getattr(t.optim, optimizer)(layer.parameters(), lr=0.1)
    for _ in range(2):
        steps.zero_grad()
        layer(t.ones(1, 2)).sum().backward()
        steps.step()
    values = [round(v, 5) for v in layer.weight.flatten().tolist()]
    return named(layer.weight), isinstance(layer.weight, t.nn.Parameter), values


def flowed(t, kept):
    x = t.ones(2, requires_grad=True)
    y = x.as_subclass(kept)
    (y * 3).sum().backward()
    return y.is_leaf, y.requires_grad, named(x.grad), x.grad.tolist(), named(y.grad_fn)


def _refused(call):
    try:
        call()
    except TypeError as error:
        return str(error)


CASES = {
    "parameter": lambda t, k, g: named(t.nn.Parameter(t.ones(2).as_subclass(k))),
    "is a parameter": lambda t, k, g: isinstance(
        t.nn.Parameter(t.ones(2).as_subclass(k)), t.nn.Parameter
    ),
    **{
        o: (lambda t, k, g, o=o: trained(t, k, o))
        for o in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad")
    },
    "autograd": lambda t, k, g: flowed(t, k),
    "state": lambda t, k, g: {n: named(v) for n, v in t.nn.Linear(2, 2).state_dict().items()},
    "tag": lambda t, k, g: (
        g([1.0], "a").tag,
        named(g([1.0], "a") + 1),
        hasattr(g([1.0]) + 1, "tag"),
    ),
    "pickle": lambda t, k, g: (lambda v: (named(v), v.tag))(
        pickle.loads(pickle.dumps(g([1.0], "a")))
    ),
    "file": lambda t, k, g: (lambda v: (named(v), v.tag))(saved(t, g([1.0], "a"))),
    "copy": lambda t, k, g: named(copy.copy(t.ones(2).as_subclass(k))),
    "make": lambda t, k, g: t.Tensor._make_subclass(k, t.ones(2), True).requires_grad,
    "make's memory": lambda t, k, g: (
        lambda x: (t.Tensor._make_subclass(k, x).add_(1), x.tolist())[1]
    )(t.ones(2)),
    "legacy": lambda t, k, g: (named(k(2, 2)), named(k([1.0])), named(k(t.ones(2)))),
    "to": lambda t, k, g: named(t.ones(2).as_subclass(k).to(t.float64)),
    "repr": lambda t, k, g: repr(t.ones(2).as_subclass(k)).replace("Their", "").replace("Our", ""),
    "iteration": lambda t, k, g: [named(v) for v in t.ones(2).as_subclass(k)],
    "module": lambda t, k, g: named(
        t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU())(t.ones(2).as_subclass(k))
    ),
    "out": lambda t, k, g: named(t.add(t.ones(2), 1, out=t.ones(2).as_subclass(k))),
    "in place": lambda t, k, g: named(t.ones(2).add_(t.ones(2).as_subclass(k))),
    "max": lambda t, k, g: named(t.ones(2, 2).as_subclass(k).max(0).values),
    "hook": lambda t, k, g: named(
        t.ones(2, requires_grad=True).as_subclass(k).register_hook(print)
    ),
    "no wrong class": lambda t, k, g: _refused(lambda: t.ones(1).as_subclass(int)),
    "grad": lambda t, k, g: t.ones(2).as_subclass(k).grad,
    "vmap": lambda t, k, g: t.func.vmap(lambda x: x * 2)(t.ones(2).as_subclass(k)).tolist(),
}


@pytest.mark.parametrize("name", CASES)
def test_subclasses_are_kept(name):
    theirs = CASES[name](torch, TheirKept, TheirTagged)
    assert CASES[name](torchlike, OurKept, OurTagged) == theirs


def test_jitted_functions_keep_the_class():
    double = torchlike.jit(lambda x: x * 2)
    for _ in range(3):
        result = double(torchlike.ones(2).as_subclass(OurKept))
        assert type(result) is OurKept
        assert result.tolist() == [2, 2]
