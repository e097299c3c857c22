"""Operands of several dtypes: promoted or refused, against PyTorch."""

import itertools

import pytest
from oracle import compare, source

import torchlike
from torchlike._runtime import reference

torch = pytest.importorskip("torch")

DTYPES = ("uint8", "int8", "int16", "float32")
BFLOAT16 = "bfloat16 beside complex numbers"


def of(t, name):
    return t.tensor([[1, 0], [0, 3]]).to(getattr(t, name))


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("name", ["add", "sub", "add_", "sub_"])
@pytest.mark.parametrize(("first", "second"), list(itertools.product(DTYPES, DTYPES)))
def test_sums_with_sparse_tensors(first, second, name):
    """`uint8` has no negative numbers that could be added, `int8` no fractions."""
    for dense in (False, True):

        def result(t, dense=dense):
            x = of(t, first)
            found = getattr(x if dense else x.to_sparse(), name)(of(t, second).to_sparse())
            return found.to_dense() if found.is_sparse else found

        compare(result, exact=True, words=0)


LERPS = [
    f"t.lerp(t.ones(2, dtype=t.{a}), t.zeros({end}, dtype=t.{b}), {weight})"
    for a, b in itertools.product(("float64", "float32", "int64"), repeat=2)
    for end in ("2", "()")
    for weight in (
        "0.25",
        f"t.full((2,), 0.25).to(t.{b})",
        f"t.full((), 0.25).to(t.{b})",
        "1j",
        "1",
    )
]


@pytest.mark.parametrize("line", LERPS)
def test_lerp(line):
    function = source(line)
    compare(function, exact=True)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_lerp_in_place(dtype):
    function = source(f"t.ones(2, dtype=t.{dtype}).lerp_(t.zeros(2), 0.5)")
    compare(function, exact=True, words=0)
    function = source(f"x = t.zeros(2, dtype=t.{dtype}); x.lerp_(x + 1, t.tensor(.5))")
    compare(function, exact=True, words=0)


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("name", ["add", "mul", "sub", "true_divide", "pow", "where"])
@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16", "int64"])
@pytest.mark.parametrize("complexes", ["complex64", "complex128"])
def test_floats_beside_one_complex_number(name, kind, complexes):
    """A complex tensor without dimensions makes floats complex, and no wider."""

    def result(t, first):
        x, z = t.ones(3, dtype=getattr(t, kind)), t.ones((), dtype=getattr(t, complexes))
        x, z = (x, z) if first else (z, x)
        found = t.where(t.tensor(True), x, z) if name == "where" else getattr(t, name)(x, z)
        return str(found.dtype)

    if kind == "bfloat16" and reference.follows(BFLOAT16):
        pytest.skip(reference.CHANGES[BFLOAT16].kept)
    for first in (True, False):
        assert result(torchlike, first) == result(torch, first)


EXACT = [
    f"t.{call}(t.tensor({x}).to(t.{a}), t.tensor({n}).to(t.{b}))"
    for call in ("ldexp", "Tensor.ldexp_")
    for a in ("float16", "bfloat16", "float32", "float64")
    for b in ("int64", "int8")
    for x, n in (([1.0, 3.0], [1, -2]), ([1e-3, 1.0], [20, -15]), ([1e-4, 1.0], [15, 100]))
] + [
    "t.ldexp(t.ones(2) * 1e-20, t.tensor([130, -90]))",
    "t.ldexp(t.ones(2), t.tensor([130, -90]))",
    "t.ldexp(t.ones(2, dtype=t.float64), t.tensor([500, -1000]))",
    "t.ldexp(t.ones(2), t.tensor([0.5, 2]))",
    "t.ldexp(t.ones(2, dtype=t.int64), t.tensor([1, 2]))",
    "t.ldexp(t.ones(2).half(), t.tensor(3))",
    "t.ldexp(t.ones(2).half(), t.tensor(3.))",
    "t.ldexp(t.tensor([float('inf'), float('nan')]), t.tensor([-3, 3]))",
]


@pytest.mark.parametrize("line", EXACT)
def test_ldexp(line):
    function = source(line)
    compare(function, exact=True)


@pytest.mark.parametrize("jit", [False, True])
def test_gradient_of_ldexp(jit):
    def gradient(t, x, n):
        x = x * 1
        t.ldexp(x, n).sum().backward()

    for n in ([1, 3], [1.0, 3.0]):
        x = torchlike.tensor([2.0, -1.0], requires_grad=True)
        (torchlike.jit(gradient) if jit else gradient)(torchlike, x, torchlike.tensor(n))
        assert x.grad.tolist() == [2.0, 8.0]


REFUSED = [
    f"t.{call}(t.ones(2).to(t.{a}), t.ones(2).to(t.{b}))"
    for call in ("heaviside", "Tensor.heaviside_")
    for a, b in itertools.product(("float32", "int64", "bool"), repeat=2)
] + [
    "t.add(t.ones(1, dtype=t.int8), t.ones(1, dtype=t.int8), alpha=True)",
    "t.sub(t.ones(2), t.ones(2), alpha=True)",
    "t.rsub(t.ones(2), t.ones(2), alpha=True)",
    "t.ones(2).add_(1, alpha=True)",
    "t.add(t.tensor([True]), t.tensor([False]), alpha=True)",
]


@pytest.mark.parametrize("line", REFUSED)
def test_refusals(line):
    function = source(line)
    compare(function, exact=True)


INFINITE = [
    (0, 1),
    (1, 0),
    ("inf", 1),
    (1, "inf"),
    ("inf", "inf"),
    ("nan", 1),
    (1, "nan"),
    (-1, 1),
    (1, -1),
    (0, "inf"),
    ("inf", 0),
    ("inf", -1),
]


@pytest.mark.parametrize("name", ["igamma", "igammac"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_incomplete_gamma_functions(name, dtype):
    large = [(200, 200), (1e5, 1e5), (1e5, 1.003e5), (3e6, 3e6), (0.1, 1e-3), (5, 40)]
    for pairs in (INFINITE, large):
        a, x = ([float(p[i]) for p in pairs] for i in (0, 1))
        ours, theirs = (
            getattr(t, name)(*(t.tensor(v, dtype=getattr(t, dtype)) for v in (a, x)))
            for t in (torchlike, torch)
        )
        tolerance = {"float32": 2e-5, "float64": 1e-8}[dtype]  # PyTorch's own, in float32
        theirs = torchlike.tensor(theirs.tolist(), dtype=ours.dtype)
        torchlike.testing.assert_close(ours, theirs, rtol=tolerance, atol=0, equal_nan=True)
