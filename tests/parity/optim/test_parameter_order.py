"""In which order parameters are counted: an optimizer's checkpoint names them by it."""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType

import pytest

import torchlike

torch = pytest.importorskip("torch")


def orders(t):
    def pairs():
        return [("b", t.ones(1)), ("a", t.ones(1)), ("c", t.ones(1))]

    made = [
        t.nn.ParameterDict(given)
        for given in (
            dict(pairs()),
            OrderedDict(pairs()),
            pairs(),
            MappingProxyType(dict(pairs())),
            t.nn.ParameterDict(pairs()),
        )
    ]
    made += [made[2] | dict(pairs()[::-1]), made[0].copy(), t.nn.ParameterDict()]
    made[-1].update({"z": t.ones(1), "y": t.ones(1)})
    made[-1] |= {"m": t.ones(1), "l": t.ones(1)}
    modules = t.nn.ModuleDict({"b": t.nn.Linear(1, 1), "a": t.nn.Linear(1, 1)})
    return [[name for name, _ in m.named_parameters()] for m in (*made, modules)]


def test_the_order_of_parameters():
    assert orders(torchlike) == orders(torch)
