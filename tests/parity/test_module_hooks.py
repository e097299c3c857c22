"""Backward hooks and what modules give back, against PyTorch."""

import warnings
from collections import namedtuple

import pytest

import torchlike

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

Pair = namedtuple("Pair", "mean spread")


def two(t, made):
    """A module of the library ``t`` whose output is ``made(x)``."""

    class Two(t.nn.Module):
        def forward(self, x):
            return made(x)

    return Two()


def seen(t, made):
    """The class of the output, the warnings, and the gradients that hooks saw."""
    log = []
    module = two(t, made)
    module.register_full_backward_pre_hook(lambda m, out: log.append([g.tolist() for g in out]))
    module.register_full_backward_hook(lambda m, into, out: log.append([g.tolist() for g in into]))
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = module(x)
    parts = result.values() if isinstance(result, dict) else result
    sum(part.sum() for part in parts).backward()
    return type(result), [str(w.message) for w in said], log


MADE = {
    "named": lambda x: Pair(x * 2, x * 3),
    "tuple": lambda x: (x * 2, x * 3),
    "list": lambda x: [x * 2],
    "dict": lambda x: {"y": x * 2},
}


@pytest.mark.parametrize("name", ["named", "tuple", "list", "dict"])
def test_outputs_with_backward_hooks(name):
    assert seen(torchlike, MADE[name]) == seen(torch, MADE[name])


def test_named_fields_survive_jit():
    module = two(torchlike, MADE["named"])
    module.register_full_backward_hook(lambda m, into, out: (into[0] * 10,))
    x = torchlike.tensor([1.0, 2.0], requires_grad=True)
    result = torchlike.jit(module)(x)
    assert type(result) is Pair
    result.spread.sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]
