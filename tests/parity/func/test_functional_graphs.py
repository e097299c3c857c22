"""``torch.func.functionalize`` under ``make_fx``: graphs without writes, beside PyTorch's."""

import functools

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx as torch_make_fx

import torchlike
from torchlike.fx.experimental.proxy_tensor import make_fx


def view_of_an_argument(t, x):
    y = x.view(4, 2)
    y.add_(1)
    return x * y.view(2, 4)


def parts_of_something_new(t, x):
    z = t.ones(2, 4)
    z[0] = x[0]
    z.t().mul_(2)
    return z


def an_argument(t, x):
    x.add_(1)
    return x.sum()


def chunks(t, x):
    y, w = x.clone().chunk(2)
    y.mul_(w)
    return y + w


def into_out(t, x):
    y = t.zeros(4)
    t.add(x[0], x[1], out=y)
    return y


def base_and_view(t, x):
    y = x.clone()
    z = y[0]
    y.mul_(2)
    z.add_(1)
    return y, z


def the_argument_itself(t, x):
    return x.relu_()


def kept_view(t, x):
    row = x[1]
    x.mul_(3)
    return row + 1, x


CASES = [
    view_of_an_argument,
    parts_of_something_new,
    an_argument,
    chunks,
    into_out,
    base_and_view,
    the_argument_itself,
    kept_view,
]


def _of_one(function):
    """PyTorch's tracer counts the parameters of the function that it is given."""
    return lambda x: function(x)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_graphs_have_new_values_in_the_place_of_writes(case, remove):
    found = {}
    for t, trace in ((torch, torch_make_fx), (torchlike, make_fx)):
        function = t.func.functionalize(functools.partial(case, t), remove=remove)
        graph = trace(_of_one(function))(t.arange(8.0).reshape(2, 4) - 3)
        nodes = [n for n in graph.graph.nodes if n.op == "call_function"]
        x, y = (t.arange(8.0).reshape(2, 4) - 3 for _ in range(2))
        results, expected = graph(x), case(t, y)
        for a, b in zip(*map(t.utils._pytree.tree_leaves, (results, expected)), strict=True):
            assert a.tolist() == b.tolist()
        assert x.tolist() == y.tolist()
        # A view that is taken again once more than need be is no difference.
        found[t] = (
            {str(n.target) for n in nodes},
            [str(n.target) for n in nodes].count("aten.copy_.default"),
        )
    assert found[torchlike] == found[torch]


def test_elsewhere_it_is_the_function():
    x = torchlike.ones(3)
    assert torchlike.func.functionalize(lambda x: x.add_(1))(x) is x
    assert x.tolist() == [2, 2, 2]
