"""How products by ``einsum`` lie in memory: as the matrix product that PyTorch makes of them."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

SIZES = dict(zip("abijklm", range(2, 9), strict=True))
EQUATIONS = [
    f"{left},{right}->{''.join(out)}"
    for left, right, letters in (
        ("ij", "jk", "ik"),
        ("ijl", "jk", "ikl"),
        ("ij", "jkl", "ikl"),
        ("aij", "ajk", "aik"),
        ("abij", "ajbk", "abik"),
        ("ijl", "kjm", "ilkm"),
        ("iij", "jk", "ik"),
        ("aij", "jk", "aik"),
    )
    for out in itertools.permutations(letters)
]


def strides(m, equation, sizes, jitted=False):
    left, right = equation.partition("->")[0].split(",")
    operands = [m.ones([sizes[s] for s in term]) for term in (left, right)]

    def product(x, y):
        return m.einsum(equation, x, y)

    return of_longer((torchlike.jit(product) if jitted else product)(*operands))


def of_longer(found):
    """The strides of dimensions longer than 1."""
    return [by for by, n in zip(found.stride(), found.shape, strict=True) if n > 1]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_two_operands(equation):
    assert strides(torchlike, equation, SIZES) == strides(torch, equation, SIZES)


@pytest.mark.parametrize("one", "abik")
@pytest.mark.parametrize("equation", ["aij,ajk->aik", "abij,ajbk->iakb", "aij,jk->kai"])
def test_a_dimension_of_one(equation, one):
    sizes = {**SIZES, one: 1}
    assert strides(torchlike, equation, sizes) == strides(torch, equation, sizes)


def test_jitted():
    equation = "abij,abjk->aibk"
    assert strides(torchlike, equation, SIZES, jitted=True) == strides(torch, equation, SIZES)


@pytest.mark.parametrize("equation", ["...ij,...jk->...ik", "...ij,jk->k...i", "i...j,jk->...ki"])
def test_dots(equation):
    def of(m):
        right = m.ones(5, 3, 4) if "...jk" in equation else m.ones(3, 4)
        return of_longer(m.einsum(equation, m.ones(2, 1, 2, 3), right))

    assert of(torchlike) == of(torch)


def test_a_letter_summed_beforehand():
    assert strides(torchlike, "ijl,jk->ki", SIZES) == strides(torch, "ijl,jk->ki", SIZES)


def test_dropout_behind_it_draws_pytorchs_mask():
    def of(m):
        m.manual_seed(0)
        product = m.einsum("bhqk,bhkd->bqhd", m.ones(2, 3, 4, 5), m.ones(2, 3, 5, 2))
        return m.nn.functional.dropout(product).tolist()

    assert of(torchlike) == of(torch)
