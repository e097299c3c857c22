"""Functions that make tensors, given ``out=``, odd sizes and lists, against PyTorch."""

import warnings

import numpy as np
import pytest
from oracle import compare

import torchlike

torch = pytest.importorskip("torch")


def one(t, dtype="float32"):
    """Ten elements at one address."""
    return t.ones(1, dtype=getattr(t, dtype)).expand(10)


ONE_ELEMENT = {
    "linspace": lambda t: t.linspace(0, 1, 10, out=one(t)),
    "logspace": lambda t: t.logspace(0, 1, 10, out=one(t)),
    "arange": lambda t: t.arange(10, out=one(t)),
    "range": lambda t: t.range(0, 9, out=one(t)),
    "rand": lambda t: t.rand(10, out=one(t)),
    "randn": lambda t: t.randn(10, out=one(t)),
    "normal": lambda t: t.normal(0.0, 1.0, (10,), out=one(t)),
    "randint": lambda t: t.randint(5, (10,), out=one(t, "int64")),
    "zeros": lambda t: t.zeros(10, out=one(t)),
    "full": lambda t: t.full((10,), 2.0, out=one(t)),
}
RECORDED = {
    "zeros": lambda t, out: t.zeros(3, out=out, requires_grad=True),
    "empty": lambda t, out: t.empty(3, out=out, requires_grad=True),
    "rand": lambda t, out: t.rand(3, out=out, requires_grad=True),
    "full": lambda t, out: t.full((3,), 2.0, out=out, requires_grad=True),
    "arange": lambda t, out: t.arange(3.0, out=out, requires_grad=True),
    "linspace": lambda t, out: t.linspace(0, 1, 3, out=out, requires_grad=True),
}
MADE = {
    "a list in itself": lambda t: t.tensor(in_itself()),
    "nothing, strided": lambda t: t.empty_strided((0,), (7,)).stride(),
    "nothing, strided by 100": lambda t: t.ones(2).new_empty_strided((3, 0), (100, 1)).stride(),
    "cat of nothing": lambda t: t.cat([t.empty(0), t.empty(0)], dim=1),
    "cat of one nothing": lambda t: t.cat([t.empty(0)], dim=-2),
    "cat with nothing": lambda t: t.cat([t.ones(1), t.empty(0)], dim=1),
    "range": lambda t: t.range(0, 2, 0.5),
    "range of integers": lambda t: t.range(1, 4, out=t.empty(2, dtype=t.int64)),
    "range backwards": lambda t: t.range(4, 1),
    "range without a step": lambda t: t.range(1, 4, 0),
    "range, recorded": lambda t: t.range(1, 2, requires_grad=True),
    "randint of no bools": lambda t: t.randint(6, (0,), dtype=t.bool),
    "randint of no bytes": lambda t: t.randint(-3, 5, (0,), dtype=t.uint8),
}


def in_itself():
    found = []
    found.append([found])
    return found


@pytest.mark.parametrize("name", ONE_ELEMENT)
def test_elements_that_are_one_in_memory(name):
    compare(ONE_ELEMENT[name], exact=True, warned=40)


@pytest.mark.parametrize("name", RECORDED)
def test_what_is_written_into_requires_grad(name):
    for t in (torch, torchlike):
        out = t.empty(3)
        RECORDED[name](t, out)
        assert out.requires_grad
        assert out.is_leaf


@pytest.mark.parametrize("name", MADE)
def test_made(name):
    compare(MADE[name], exact=True, warned=40)


def test_a_zero_dimensional_array_deep_in_a_list():
    data = [[1.0, np.array(5)], [3, 4]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch: lists of arrays are slow
        assert torchlike.tensor(data).tolist() == torch.tensor(data).tolist()
