"""``torch.compile(dynamic_shapes=)``: calls that a specification does not allow are refused."""

import re

import pytest

import torchlike as torch
from torchlike._dynamo.exc import InternalTorchDynamoError
from torchlike.fx.experimental.dynamic_spec import (
    STATIC,
    DictSpec,
    IntVar,
    ObjectSpec,
    ParamsSpec,
    SeqSpec,
    ShapesSpec,
    ShapeVar,
    TensorSpec,
    dynamic_spec,
)

A, B = ShapeVar("a"), ShapeVar("b", min=2, max=4)
N = IntVar("n", min=0, max=10)


def times(x, n):
    return x * n


def of(*sizes):
    return torch.ones(sizes)


@pytest.mark.parametrize(
    ("spec", "allowed", "refused", "error", "words"),
    [
        (
            {"x": TensorSpec([B, STATIC])},
            [of(4, 3)],
            [of(5, 3)],
            AssertionError,
            "x.size()[0] <= 4",
        ),
        ({"x": TensorSpec([B])}, [of(2)], [of(1)], AssertionError, "x.size()[0] >= 2"),
        (
            {"x": TensorSpec([A, 3])},
            [of(0, 3)],
            [of(1, 2)],
            InternalTorchDynamoError,
            "ValueError: shapes_spec declares dim 1 as static with value 3, but got 2",
        ),
        (
            {"x": TensorSpec([A])},
            [of(1)],
            [of(1, 1)],
            InternalTorchDynamoError,
            "TensorSpec has 1 dims but tensor L['x'] has 2 dims",
        ),
        (
            {"x": TensorSpec([A]), "y": TensorSpec([A])},
            [of(3), of(3)],
            [of(3), of(4)],
            AssertionError,
            "Guard failed: y.size()[0] == x.size()[0]",
        ),
        (
            {"x": TensorSpec([A]), "y": TensorSpec([2 * A + 1])},
            [of(3), of(7)],
            [of(3), of(6)],
            AssertionError,
            "y.size()[0] == 2*x.size()[0] + 1",
        ),
        (
            {"y": TensorSpec([2 * A])},
            [of(3)],  # of what is left out nothing is said
            [of(3), of(6)],
            InternalTorchDynamoError,
            "1 pending check(s) reference unbound IntVar(s) ['a'].",
        ),
        (
            ShapesSpec(
                {"x": TensorSpec([A]), "y": TensorSpec([B])}, assumptions=[A % 2 == 0, A + B > 5]
            ),
            [of(4), of(2)],
            [of(3), of(4)],
            RuntimeError,
            "Runtime assertion failed for expression Eq(Mod(x.size()[0], 2), 0)",
        ),
        ({"y": A}, [of(1), 2.5], [of(1), of(3)], InternalTorchDynamoError, "not int"),
        (
            {"*args": [None, TensorSpec([B])]},
            [of(1), of(1), of(9), of(3)],
            [of(1), of(1), of(9), of(9)],
            AssertionError,
            "args[1].size()",
        ),
        (
            {"y": SeqSpec([TensorSpec([B])])},
            [of(1), (of(3), of(9))],
            [of(1), of(3)],
            InternalTorchDynamoError,
            "shapes_spec['y']: SeqSpec expected list/tuple, got Tensor",
        ),
    ],
)
def test_a_call_is_checked(spec, allowed, refused, error, words):
    def first(x, y=None, *more, **named):
        return x * 1

    f = torch.compile(first, dynamic_shapes=spec, fullgraph=True)
    f(*allowed)
    with pytest.raises(error, match=re.escape(words)):
        f(*refused)
    f(*allowed)
    assert f.compiles == 1


def test_an_intvar_is_traced_from_the_first_call_on():
    f = torch.compile(times, dynamic_shapes=ParamsSpec({"n": N}), fullgraph=True)
    assert [f(of(2), n).tolist()[0] for n in (5, 0, 1, 10)] == [5, 0, 1, 10]
    assert f.compiles == 1
    with pytest.raises(AssertionError, match="Guard failed: n <= 10"):
        f(of(2), 11)
    pinned = torch.compile(times, dynamic_shapes={"n": 3})
    assert pinned(of(1), 3) == 3
    with pytest.raises(InternalTorchDynamoError, match="as static with value 3, but got 4"):
        pinned(of(1), 4)


def test_parts_of_arguments():
    class Holder:
        weight = of(3)

    def last(x, held, table, **named):
        return x + held.weight.sum() + table["k"].sum()

    spec = ParamsSpec(
        {
            "held": ObjectSpec({"weight": TensorSpec([B])}),
            "table": DictSpec({"k": TensorSpec([B * 2])}),
            "**kwargs": {"z": TensorSpec([B])},
        }
    )
    f = torch.compile(last, dynamic_shapes=spec)
    held = Holder()
    assert f(of(1), held, {"k": of(6)}, z=of(3)) == 10
    with pytest.raises(AssertionError, match=r"table\['k'\].size.* == 2\*held.weight.size"):
        f(of(1), held, {"k": of(4)})
    with pytest.raises(InternalTorchDynamoError, match=r"DictSpec has entries \['k'\] that"):
        f(of(1), held, {"j": of(4)})
    with pytest.raises(InternalTorchDynamoError, match=r"ObjectSpec has entries \['weight'\] that"):
        f(of(1), of(1), {"k": of(4)})
    held.weight = of(5)
    with pytest.raises(AssertionError, match=r"held.weight.size\(\)\[0\] <= 4"):
        f(of(1), held, {"k": of(10)})


def test_a_module_and_what_is_attached():
    class Doubled(torch.nn.Module):
        @dynamic_spec({"x": TensorSpec([B])})
        def forward(self, x):
            return 2 * x

    f = torch.compile(Doubled())
    assert f(of(3)).sum() == 6
    with pytest.raises(AssertionError, match="<= 4"):
        f(of(5))
    with pytest.raises(ValueError, match="Both `@dynamic_spec"):
        torch.compile(Doubled(), dynamic_shapes={})
    with pytest.raises(NotImplementedError, match=r"Use instead: torch\.compile"):
        torch.nn.Linear(2, 2).compile(dynamic_shapes={"input": TensorSpec([B, 2])})


def test_arguments_that_do_not_go_together():
    decorated = torch.compile(dynamic_shapes={"x": TensorSpec([B])})(times)
    with pytest.raises(AssertionError, match=">= 2"):
        decorated(of(1), 3)
    with pytest.raises(ValueError, match="`dynamic` and `dynamic_shapes` cannot both be set"):
        torch.compile(times, dynamic_shapes={}, dynamic=True)
    with pytest.raises(ValueError, match="by its older name"):
        torch.compile(times, dynamic_shapes={}, shapes_spec={})
    with pytest.raises(TypeError, match="dynamic spec expects a dict, ShapesSpec, or ParamsSpec"):
        torch.compile(times, dynamic_shapes=3)
