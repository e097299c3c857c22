"""What `bench` is asked to time, in text: functions, shapes, sweeps, and what is refused."""

import sys

import pytest

import torchlike as torch
from torchlike.porting.bench.targets import (
    BenchTarget,
    TargetError,
    arguments_of,
    function_of,
    shapes_of,
    sizes_of,
)

NAMES = {"torch": torch}


@pytest.fixture(autouse=True)
def path(monkeypatch):
    """Find beside a file what it imports, as beside a script."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def made(function, sizes=None, **target):
    return arguments_of(torch, BenchTarget("", **target), function, sizes or {}, NAMES)


def test_functions_in_text_and_in_files(tmp_path):
    assert function_of("lambda x: x + 1", NAMES)(1) == 2
    (tmp_path / "layers_of_a_test.py").write_text("class A:\n    f = staticmethod(abs)\n")
    assert function_of(f"{tmp_path}/layers_of_a_test.py::A.f", {}) is abs


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lambda x", "is no Python expression"),
        ("lambda_(x)", "name 'lambda_' is not defined; it may use torch"),
        ("3", "is int, which cannot be called"),
        ("no/such.py::f", "there is no file no/such.py"),
        (f"{__file__}::absent", "has no absent"),
    ],
)
def test_functions_that_are_none(text, says):
    with pytest.raises(TargetError, match=says):
        function_of(text, NAMES)


def test_arguments_by_shapes():
    x, y = made(lambda x, y=None: x, {"n": 4}, shapes={"y": "n//2:int64", "x": "2,n"})
    assert (x.shape, x.dtype, y.shape, y.dtype) == ((2, 4), torch.float32, (2,), torch.int64)
    again = made(lambda x: x, {"n": 4}, shapes={"x": "2,n"})[0]
    assert x.equal(again)
    (scalar,) = made(lambda x: x, shapes={"x": ":bool"})
    assert (scalar.shape, scalar.dtype) == ((), torch.bool)
    assert made(torch.nn.ReLU(), shapes={"input": "2"})[0].shape == (2,)


def test_arguments_by_an_expression():
    x, number = made(lambda x, n: x, {"n": 3}, arguments="torch.zeros(n), n * 2")
    assert (x.tolist(), number) == ([0, 0, 0], 6)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ({"shapes": {"x": "2"}}, "y has no shape: the parameters are x, y"),
        ({"shapes": {"x": "2", "y": "2", "z": "1"}}, "there is no z"),
        ({"shapes": {"x": "m", "y": "2"}}, "name 'm' is not defined"),
        ({"shapes": {"x": "2:float", "y": "2:whole"}}, "'whole' is no dtype"),
        ({"arguments": "m"}, "name 'm' is not defined"),
    ],
)
def test_arguments_that_are_none(target, says):
    with pytest.raises(TargetError, match=says):
        made(lambda x, y: x, **target)


def test_sweeps_and_shapes():
    assert sizes_of("n=64..1000") == ("n", [64, 128, 256, 512])
    assert sizes_of("width=3,100") == ("width", [3, 100])
    assert shapes_of(["x=64,n", "y="]) == {"x": "64,n", "y": ""}
    for wrong in ("n", "n=", "n=0..4", "n=8..4", "2=4", "n=a,b"):
        with pytest.raises(TargetError, match="a sweep is"):
            sizes_of(wrong)
    with pytest.raises(TargetError, match="a shape is"):
        shapes_of(["64,64"])
