"""Values and gradients at zeros, NaN and large numbers, against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracle import compare, outcome, same, with_gradients

import torchlike

torch = pytest.importorskip("torch")

LIBRARIES = (torch, torchlike)
INF, NAN = math.inf, math.nan


def both(function, *values, dtype=None, **tolerance):
    """Values and gradients of ``function(library, *tensors)``, eager and jitted."""
    for jitted in (False, True):
        run = with_gradients(function, *values, dtype=dtype, jitted=jitted)
        compare(run, **tolerance)


# -- the exponential of matrices -------------------------------------------------------------------

MATRIX = [[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]]
_rng = np.random.default_rng(0)
MATRICES = {
    "figures": np.array(MATRIX),
    "zeros": np.zeros((3, 3)),
    "small": 1e-4 * _rng.normal(size=(4, 4)),
    "nilpotent": np.array([[0.0, 1e4], [0.0, 0.0]]),
    "large": 6 * _rng.normal(size=(5, 5)),
    "one": np.array([[3.0]]),
    "batch": _rng.normal(size=(4, 1, 3, 3)) * np.array([0.01, 1, 4, 9])[:, None, None, None],
    "none": np.zeros((0, 3, 3)),
}


@pytest.mark.sampled(every=7, rest="full")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", MATRICES)
def test_matrix_exp(name, dtype):
    matrix = MATRICES[name]
    wide = dtype in ("float64", "complex128")
    found = []
    for library in LIBRARIES:
        values = matrix * (1 + 0.3j) if dtype.startswith("complex") else matrix
        x = library.tensor(values, dtype=getattr(library, dtype), requires_grad=True)
        y = library.matrix_exp(x)
        (g,) = library.autograd.grad(y.abs().sum(), x)
        found.append([t.detach().numpy() for t in (y, g)])
        if library is torchlike:
            found[-1].append(torchlike.jit(torchlike.matrix_exp)(x.detach()).numpy())
    (y, g), (mine, gradient, compiled) = found
    assert (mine.shape, mine.dtype) == (y.shape, y.dtype)
    # Relative to the largest element of each matrix: that is what the errors go with.
    for ours, theirs, bound in ((mine, y, 1e-5), (compiled, y, 1e-5), (gradient, g, 1e-4)):
        size = np.abs(theirs).max((-2, -1), keepdims=True) if theirs.size else 1.0
        assert (np.abs(ours - theirs) <= (1e-12 if wide else bound) * size).all()


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_matrix_exp_under_transforms():
    def summed(library):
        return lambda x: library.matrix_exp(x).sum()

    results = []
    for library in LIBRARIES:
        x = library.tensor(MATRIX, dtype=library.float64)
        f, several = library.func, library.stack([x, x / 9])
        results.append(
            [
                f.hessian(summed(library))(x),
                f.jacfwd(library.matrix_exp)(x),
                f.vmap(f.jacrev(library.matrix_exp))(several),
                f.grad(lambda u, lib=library: lib.vmap(lib.matrix_exp)(u).sum())(several),
            ]
        )
    for theirs, mine in zip(*results, strict=True):
        same(mine, theirs, rtol=1e-11)


# -- integer powers --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_integer_powers(dtype):
    bases = [0, 1, 2, 3, 7] if dtype == "uint8" else [0, 1, 2, 3, -1, -2, -3]
    exponents = [0, 1, 2, 5, 63, 64, 65, 70, 100, 127]
    if dtype != "uint8":
        exponents += [-1, -2, -7, -128]
    if dtype not in ("int8", "uint8"):
        exponents += [128, 1000, 32767]
    results = []
    for library in LIBRARIES:
        kind = getattr(library, dtype)
        x = library.tensor(bases, dtype=kind)[:, None]
        y = library.tensor(exponents, dtype=kind)
        results.append((x**y, library.pow(3, y), x.clone().expand(-1, len(y)).clone().pow_(y)))
    for theirs, mine in zip(*results, strict=True):
        same(mine, theirs)
    x = torchlike.tensor(bases, dtype=getattr(torchlike, dtype))[:, None]
    y = torchlike.tensor(exponents, dtype=getattr(torchlike, dtype))
    same(torchlike.jit(lambda x, y: x**y)(x, y), results[0][0])


def test_figures_of_integer_powers():
    assert (torchlike.tensor(2) ** torchlike.tensor(64)).item() == 0
    assert (torchlike.tensor(3) ** torchlike.tensor(70)).item() == 2293070008301402073


# -- activations -----------------------------------------------------------------------------------

EDGES = [NAN, INF, -INF, 0.0, -0.0, 3.0, -3.0, 0.5, -0.5, 6.0, 1.0, -1.0, 20.0, -40.0]
ACTIVATIONS = [
    "hardswish",
    "hardsigmoid",
    "hardtanh",
    "relu6",
    "softshrink",
    "hardshrink",
    "celu",
    "elu",
    "silu",
    "mish",
    "softsign",
    "logsigmoid",
    "gelu",
    "selu",
    "leaky_relu",
    "rrelu",
]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", [*ACTIVATIONS, "threshold"])
def test_activations_at_the_edge(name):
    statics = (0.5, 2.0) if name == "threshold" else ()
    # PyTorch's of one number at a time: its vectorised gradients at NaN are others.
    values, gradients = [], []
    for value in EDGES:
        x = torch.tensor(value, requires_grad=True)
        y = getattr(torch.nn.functional, name)(x, *statics)
        values.append(y.item())
        gradients.append(torch.autograd.grad(y, x)[0].item())

    def function(x):
        return getattr(torchlike.nn.functional, name)(x, *statics)

    for run in (function, torchlike.jit(function)):
        x = torchlike.tensor(EDGES, requires_grad=True)
        y = run(x)
        (g,) = torchlike.autograd.grad(y.sum(), x)
        assert g is not None
        np.testing.assert_allclose(y.tolist(), values, rtol=1e-5, atol=1e-16)
        np.testing.assert_allclose(g.tolist(), gradients, rtol=1e-5, atol=1e-16)


@pytest.mark.parametrize("name", ["hardtanh", "relu6", "softshrink"])
def test_activations_keep_the_sign_of_zero(name):
    for library in LIBRARIES:
        activation = getattr(library.nn.functional, name)
        zeros = activation(library.tensor([-0.0, 0.0]))
        assert np.signbit(zeros.numpy()).tolist() == [True, False]


# -- angles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "bool"])
def test_angle_of_reals(dtype):
    for value in (1, 0, [1, 0, 1], *(() if dtype == "bool" else (-1, [-1, 3, 0]))):
        theirs, mine = (
            x.angle(library.tensor(value, dtype=getattr(library, dtype)))
            for library, x in zip(LIBRARIES, LIBRARIES, strict=True)
        )
        same(mine, theirs, rtol=1e-3 if dtype == "float16" else 1e-7)
        assert mine.shape == tuple(theirs.shape)


def test_angle_at_zero_and_nan():
    both(lambda library, x: library.angle(x), [0.0, -0.0, -1.0, 1.0, NAN, -INF])
    both(lambda library, x: library.angle(x), [0j, 1 + 1j, -1 + 0j, complex(-0.0, 0.0)], rtol=1e-6)


# -- gradients that are finite ---------------------------------------------------------------------


def test_atan2_at_the_origin():
    both(
        lambda library, y, x: library.atan2(y, x),
        [0.0, 0.0, -0.0, 1.0, 0.0, 2.0],
        [0.0, -0.0, -0.0, 0.0, 1.0, -3.0],
        rtol=1e-6,
    )


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "values",
    [
        [2.0, 2.0, NAN],
        [2.0, NAN, NAN],
        [2.0, 2.0, 1.0],
        [1.0, 1.0, 2.0],
        [INF, 1.0, INF],
    ],
)
@pytest.mark.parametrize("name", ["max", "min", "amax", "amin"])
def test_extrema_with_nan(name, values):
    both(lambda library, x: getattr(library, name)(x), values)
    both(
        lambda library, x: (
            getattr(library, name)(x, 0) if name[0] == "a" else getattr(library, name)(x, 0)[0]
        ),
        values,
    )
    both(lambda library, x: getattr(library.aminmax(x), name.removeprefix("a")), values)


def test_zero_to_a_complex_power():
    powers = [1 + 1j, 2 + 0j, 0.5 - 3j]
    for library in LIBRARIES:
        zero, y = library.zeros(3, dtype=library.complex64), library.tensor(powers)
        for found in (
            zero**y,
            0**y,
            0.0**y,
            library.pow(0, y),
            zero ** (1 + 1j),
            library.zeros(3) ** (1 + 1j),
            library.float_power(zero, y),
        ):
            assert found.is_complex()
            assert found.tolist() == [0, 0, 0]


# -- reductions over nothing -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["any", "all"])
def test_reductions_over_no_dimension(name):
    for dtype in ("float32", "uint8", "bool"):
        results = []
        for library in LIBRARIES:
            x = library.tensor([[1, 0, 2], [0, 0, 3]], dtype=getattr(library, dtype))
            reduce = getattr(library, name)
            results.append(
                (
                    reduce(x, ()),
                    reduce(x, dim=(), keepdim=True),
                    reduce(x, dim=None),
                    getattr(x, name)(dim=()),
                    reduce(x[0, 0], ()),
                )
            )
        for theirs, mine in zip(*results, strict=True):
            same(mine, theirs)
            assert mine.shape == tuple(theirs.shape)


# -- random fills of what is in a graph ------------------------------------------------------------

FILLS = {
    "normal_": (),
    "uniform_": (),
    "exponential_": (),
    "bernoulli_": (),
    "random_": (),
    "geometric_": (0.5,),
    "cauchy_": (),
    "log_normal_": (),
}


@pytest.mark.parametrize("name", FILLS)
def test_a_random_fill_stays_in_the_graph(name):
    def filled(library):
        def function(x):
            library.manual_seed(0)
            y = x * 2
            return getattr(y, name)(*FILLS[name])

        return function

    def part(library):
        def function(x):
            library.manual_seed(0)
            y = x * 2
            getattr(y[:2], name)(*FILLS[name])
            return y * 3

        return function

    for made in (filled, part):
        results = []
        for library, function in (
            (torch, made(torch)),
            (torchlike, made(torchlike)),
            (torchlike, torchlike.jit(made(torchlike))),
        ):
            x = library.ones(3, requires_grad=True)
            y = function(x)
            assert y.requires_grad
            results.append((y.detach().tolist(), library.autograd.grad(y.sum(), x)[0].tolist()))
        np.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-6)
        np.testing.assert_allclose(results[2][0], results[0][0], rtol=1e-6)
        assert results[0][1] == results[1][1] == results[2][1]


def test_nodes_of_random_fills():
    for library in LIBRARIES:
        x = library.ones(3, requires_grad=True)
        assert (x * 2).normal_().grad_fn.name() == "NormalBackward0"
        assert (x * 2).log_normal_().grad_fn.name() == "LogNormalBackward0"
        assert (x * 2).bernoulli_().grad_fn.name() == "BernoulliBackward2"
        assert (x * 2).bernoulli_(library.full((3,), 0.5)).grad_fn.name() == "BernoulliBackward1"
        assert (x * 2).random_().grad_fn.name() == "RandomBackward2"
        assert (x * 2).random_(5).grad_fn.name() == "RandomBackward1"
        assert (x * 2).random_(1, 5).grad_fn.name() == "RandomBackward0"
        with library.no_grad():
            assert x.normal_() is x
        assert x.is_leaf
        assert x.requires_grad
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            x.normal_()


@pytest.mark.parametrize("values", [[0.0, 0.25, 0.3, 0.75, 1.0, NAN], [0.25], [0.75]])
def test_logit_passes_the_gradient_at_its_bounds(values):
    both(lambda m, x: m.logit(x, eps=0.25), values, rtol=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 0.0, -0.0, 2.0])
def test_copysign_of_zero_has_no_gradient(sign):
    both(lambda m, x, y: m.copysign(x, y), [0.0, -0.0, 1.5, -2.0], [sign] * 4)
    both(lambda m, x: m.copysign(x, sign), [0.0, -0.0, 1.5, -2.0])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("limits", [(2, -2), (3, 1), (1, 1), (math.nan, 1.0), (2.0, math.nan)])
def test_limits_of_hardtanh_in_another_order(dtype, limits):
    """The form in place takes them, and PyTorch's other forms refuse them."""

    def clamped(m):
        x = m.tensor([1, 2, 3], dtype=getattr(m, dtype))
        forms = {
            "in place": lambda m: m.nn.functional.hardtanh_(x.clone(), *limits),
            "new": lambda m: m.nn.functional.hardtanh(x, *limits),
            "inplace": lambda m: m.nn.functional.hardtanh(x.clone(), *limits, inplace=True),
            "module": lambda m: m.nn.Hardtanh(*limits)(x),
        }
        return {name: outcome(form, m) for name, form in forms.items()}

    compare(clamped, exact=True)
