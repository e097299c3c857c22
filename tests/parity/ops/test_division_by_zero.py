"""Integers divided by zero, and rounded quotients beside it, against PyTorch."""

from __future__ import annotations

import operator
from typing import Any

import pytest
from oracle import compare, outcome

import torchlike

torch = pytest.importorskip("torch")

LIBRARIES = (torch, torchlike)
DIVISIONS = {
    "//": lambda lib: operator.floordiv,
    "%": lambda lib: operator.mod,
    "floor_divide": lambda lib: lib.floor_divide,
    "remainder": lambda lib: lib.remainder,
    "fmod": lambda lib: lib.fmod,
    "trunc": lambda lib: lambda x, y: lib.div(x, y, rounding_mode="trunc"),
    "floor": lambda lib: lambda x, y: lib.divide(x, y, rounding_mode="floor"),
    "//=": lambda lib: operator.ifloordiv,
    "%=": lambda lib: operator.imod,
    "fmod_": lambda lib: lambda x, y: x.fmod_(y),
    "div_": lambda lib: lambda x, y: x.div_(y, rounding_mode="trunc"),
}


@pytest.mark.parametrize("name", DIVISIONS)
def test_by_zero(name):
    def quotients(lib):
        divide = DIVISIONS[name](lib)
        ints, bools = [7, -7, 0], [True, False, True]
        dividends = [ints, [7.0, -7.0, 0.0]]
        if not name.endswith(("=", "_")):  # PyTorch looks for room for the result first
            dividends += [bools, 7, []]
        divisors = [
            0,
            False,
            0.0,
            2,
            -2,
            2.0,
            lib.tensor([1, 0, 3]),
            lib.tensor(0),
            lib.tensor([2, -2, 3]),
            lib.tensor([1.0, 0.0, 3.0]),
            lib.tensor([True, False, True]),
            lib.tensor([0, 0]),
            lib.tensor([0], dtype=lib.uint8),
            lib.tensor([], dtype=lib.int64),
        ]
        dtypes = [lib.int64 if x == [] else None for x in dividends]
        return [
            outcome(lambda lib, x=x, y=y, d=d: divide(lib.tensor(x, dtype=d), y), lib)
            for x, d in zip(dividends, dtypes, strict=True)
            for y in divisors
        ]

    compare(quotients, exact=True)


WRAPPING = {
    "uint8": (256, -512, 300),
    "int8": (-256, 2**40),
    "int16": (2**16, 2**16 + 3),
    "int32": (2**40, -(2**32), 2**40 + 1),
    "bool": (256, 2**40),
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("dtype", WRAPPING)
@pytest.mark.parametrize("name", DIVISIONS)
def test_by_a_number_that_is_zero_in_the_dtype(name, dtype):
    def quotients(lib):
        divide, kind = DIVISIONS[name](lib), getattr(lib, dtype)
        in_place = name.endswith(("=", "_"))
        dividends = [] if in_place and dtype == "bool" else [[7, 1, 0], 7, []]
        divisors = [d for n in WRAPPING[dtype] for d in (n, lib.tensor(n), lib.tensor([n]))]
        return [
            outcome(lambda lib, x=x, y=y: divide(lib.tensor(x, dtype=kind), y), lib)
            for x in dividends
            for y in divisors
        ]

    compare(quotients, exact=True)


def test_a_number_before():
    for lib in LIBRARIES:
        zeros = lib.tensor([1, 0])
        divisions: list[Any] = [operator.floordiv, operator.mod, lib.remainder, lib.floor_divide]
        for divide in divisions:
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                divide(5, zeros)
            assert divide(5, lib.tensor([2, 3])).shape == (2,)
            assert divide(0.5, lib.tensor([2, 0])).shape == (2,)


@pytest.mark.parametrize("name", DIVISIONS)
def test_the_number_zero_under_jit(name):
    divide = DIVISIONS[name](torchlike)
    x = torchlike.tensor([7, -7, 5])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torchlike.jit(lambda x: divide(x.clone(), 0))(x)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torchlike.jit(lambda x: divide(x.clone(), 2**40))(x.int())
    compiled = torchlike.jit(lambda x, y: divide(x.clone(), y))
    y = torchlike.tensor([2, 3, -4])
    assert compiled(x, y).tolist() == divide(x.clone(), y).tolist()


def test_gradients_and_outputs():
    for lib in LIBRARIES:
        x = lib.tensor([7.0, -7.0], requires_grad=True)
        for y, expected in (
            (lib.div(x, 2), 0.5),
            (lib.remainder(x, 3), 1.0),
            (lib.fmod(x, 3), 1.0),
            (lib.div(x, 2, rounding_mode="floor"), 0.0),
        ):
            assert lib.autograd.grad(y.sum(), x)[0].tolist() == [expected] * 2
        out = lib.zeros(2, dtype=lib.int64)
        assert lib.fmod(lib.tensor([7, -7]), 4, out=out) is out
        assert out.tolist() == [3, -3]
        quotient = lib.div(lib.tensor([7, -7]), lib.tensor([2, 2]), rounding_mode="floor", out=out)
        assert quotient.tolist() == [3, -4]
