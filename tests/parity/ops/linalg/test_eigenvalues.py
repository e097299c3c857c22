"""Eigenvalues of one triangle, and gradients at repeated eigenvalues and singular values."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from oracle import compare  # noqa: E402

import torchlike  # noqa: E402


def lopsided(m):
    return m.arange(9.0, dtype=m.float64).sin().view(3, 3)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("of", ["eigh", "eigvalsh"])
def test_one_triangle_with_and_without_gradients(of, uplo, jitted):
    def run(m):
        def values(x):
            found = getattr(m.linalg, of)(x, UPLO=uplo)
            return found if of == "eigvalsh" else found[0]

        f = torchlike.jit(values) if jitted and m is torchlike else values
        x = lopsided(m)
        plain = f(x)
        recorded = f(x.requires_grad_())
        (recorded * m.arange(3, dtype=m.float64)).sum().backward()
        return plain, recorded.detach(), x.grad

    compare(run, rtol=1e-10, atol=1e-12)


def test_second_derivative_of_one_triangle():
    def run(m):
        x = lopsided(m).requires_grad_()
        weight = m.arange(3, dtype=m.float64)
        (g,) = m.autograd.grad((m.linalg.eigvalsh(x) * weight).sum(), x, create_graph=True)
        (h,) = m.autograd.grad((g * g).sum(), x)
        return g.detach(), h

    compare(run, rtol=1e-10, atol=1e-12)


def test_repeated_values_of_a_general_matrix():
    def run(m):
        x = (2 * m.eye(3, dtype=m.float64)).requires_grad_()
        m.linalg.eigvals(x).abs().sum().backward()
        return (x.grad,)

    compare(run, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("of", ["eigvalsh", "eigh", "svdvals", "nuc"])
def test_repeated_values_have_a_gradient(of, jitted):
    def run(m):
        def loss(x):
            if of == "nuc":
                return m.linalg.matrix_norm(x, "nuc")
            found = getattr(m.linalg, of)(x)
            values = found[0] if of == "eigh" else found
            return (values**2).sum()

        f = torchlike.jit(loss) if jitted and m is torchlike else loss
        x = (2 * m.eye(3, dtype=m.float64)).requires_grad_()
        f(x).backward()
        return (x.grad,)

    compare(run, rtol=1e-10, atol=1e-12)
