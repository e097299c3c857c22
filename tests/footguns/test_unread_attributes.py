"""Attributes that no code reads are no guards."""

from types import SimpleNamespace

import torchlike as torch


def one():
    return torch.ones(2)


def test_an_attribute_that_is_not_read_does_not_recompile():
    box = SimpleNamespace(k=2.0, epoch=0)
    f = torch.jit(lambda x: x * box.k)
    for _ in range(3):
        box.epoch += 1
        f(one())
    assert f.compiles == 1


def test_a_method_of_the_same_name_is_not_the_attribute():
    box = SimpleNamespace(values=[1.0])
    table = {"a": 2.0}
    f = torch.jit(lambda x: x * sum(table.values()) * len(vars(box)))
    g = torch.jit(lambda x: x * sum(table.values()))
    for _ in range(3):
        box.values.append(1.0)
        f(one())
        g(one())
    assert g.compiles == 1
