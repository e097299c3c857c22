"""Bessel, Airy and orthogonal functions against SciPy, which is more exact here than PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as scipy

import torchlike

X = np.concatenate(
    [np.linspace(-30, 30, 4001), np.linspace(1e-3, 8, 2001), np.geomspace(1e-9, 600, 500)]
)
#: name -> (SciPy's function, its derivative, defined for negative x, the scale of an error)
FUNCTIONS = {
    "bessel_j0": (scipy.j0, lambda x: -scipy.j1(x), True),
    "bessel_j1": (scipy.j1, lambda x: scipy.jvp(1, x), True),
    "bessel_y0": (scipy.y0, lambda x: -scipy.y1(x), False),
    "bessel_y1": (scipy.y1, lambda x: scipy.yvp(1, x), False),
    "modified_bessel_i0": (scipy.i0, scipy.i1, True),
    "modified_bessel_i1": (scipy.i1, lambda x: scipy.i0(x) - scipy.i1(x) / x, True),
    "modified_bessel_k0": (scipy.k0, lambda x: -scipy.k1(x), False),
    "modified_bessel_k1": (scipy.k1, lambda x: scipy.kvp(1, x), False),
    "scaled_modified_bessel_k0": (scipy.k0e, lambda x: scipy.k0e(x) - scipy.k1e(x), False),
    "scaled_modified_bessel_k1": (
        scipy.k1e,
        lambda x: scipy.k1e(x) - (scipy.k0e(x) + scipy.k1e(x) / x),
        False,
    ),
    "airy_ai": (lambda x: scipy.airy(x)[0], lambda x: scipy.airy(x)[1], True),
    "spherical_bessel_j0": (
        lambda x: scipy.spherical_jn(0, x),
        lambda x: scipy.spherical_jn(0, x, True),
        True,
    ),
}


def points(name: str) -> np.ndarray:
    x = X if FUNCTIONS[name][2] else X[X > 1e-6]
    if "spherical" in name:
        return x[np.abs(x) > 1e-3]
    return x[(np.abs(x) < 300) & (np.abs(x) > 1e-3)] if "modified" in name else x


@pytest.mark.sampled(
    # They take long to compile, and are series and polynomials of one form.
    every=12,
    of=lambda p: p["run"] == "jit",
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_value_and_derivative(run, name):
    x = points(name)
    function = getattr(torchlike.special, name)
    value, slope, _ = FUNCTIONS[name]

    def both(t):
        y = function(t)
        (g,) = torchlike.autograd.grad(y.sum(), t)
        return y.detach(), g

    found, derivative = run(both, torchlike.tensor(x, requires_grad=True))
    # Oscillating functions have an error of the size of their envelope, growing ones of their own.
    floor = 0.0 if "modified" in name else 0.05
    for got, expected in ((found, value(x)), (derivative, slope(x))):
        scale = np.maximum(np.abs(expected), floor)
        assert np.nanmax(np.abs(got.numpy() - expected) / scale) < 1e-11


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_is_rounded_once(name):
    x = points(name).astype(np.float32)
    x = x[np.abs(x) < 80]
    got = getattr(torchlike.special, name)(torchlike.tensor(x))
    assert got.dtype is torchlike.float32
    expected = FUNCTIONS[name][0](x.astype(np.float64))
    assert np.nanmax(np.abs(got.numpy() - expected) / np.maximum(np.abs(expected), 1e-30)) < 1e-5
    np.testing.assert_allclose(got.numpy(), expected.astype(np.float32), rtol=1e-6, atol=1e-7)


def test_ends_of_the_line():
    inf, nan = float("inf"), float("nan")
    x = torchlike.tensor([0.0, inf, -inf, nan, -1.0], dtype=torchlike.float64)
    special = torchlike.special
    for name in ("modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0"):
        assert np.array_equal(
            getattr(special, name)(x).numpy(), [inf, 0, nan, nan, nan], equal_nan=True
        ), name
    for name in ("bessel_y0", "bessel_y1"):
        found = getattr(special, name)(x).numpy()
        assert found[0] == -inf
        assert np.isnan(found[2:]).all()
    assert special.spherical_bessel_j0(x).tolist()[:3] == [1.0, 0.0, 0.0]


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("legendre_polynomial_p", scipy.eval_legendre),
        ("laguerre_polynomial_l", scipy.eval_laguerre),
        ("hermite_polynomial_h", scipy.eval_hermite),
        ("hermite_polynomial_he", scipy.eval_hermitenorm),
        ("chebyshev_polynomial_t", scipy.eval_chebyt),
        ("chebyshev_polynomial_u", scipy.eval_chebyu),
        ("shifted_chebyshev_polynomial_t", scipy.eval_sh_chebyt),
        ("shifted_chebyshev_polynomial_u", scipy.eval_sh_chebyu),
    ],
)
def test_polynomials(run, name, expected):
    x = np.linspace(-1.5, 1.5, 13)
    n = np.arange(13)
    function = getattr(torchlike.special, name)
    for degree in (n, n[::-1].copy()):
        got = run(function, torchlike.tensor(x), torchlike.tensor(degree)).numpy()
        np.testing.assert_allclose(got, expected(degree, x), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 9])
def test_derivatives_of_polynomials(degree):
    x = torchlike.tensor([-1.7, -0.4, 0.3, 0.9, 2.0], dtype=torchlike.float64, requires_grad=True)
    exact = np.polynomial.legendre.Legendre.basis(degree)
    y = torchlike.special.legendre_polynomial_p(x, degree)
    (first,) = torchlike.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torchlike.autograd.grad(first.sum(), x)
    at = x.detach().numpy()
    np.testing.assert_allclose(first.detach().numpy(), exact.deriv()(at), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(second.numpy(), exact.deriv(2)(at), rtol=1e-10, atol=1e-11)
