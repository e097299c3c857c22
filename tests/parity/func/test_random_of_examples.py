"""Random numbers of each example of a ``vmap``, whichever dimension it maps."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.parity.oracle import compare  # noqa: E402

ACTS = {
    "bernoulli": lambda t, a: t.bernoulli(a),
    "of_a_number": lambda t, a: t.bernoulli(a, 0.5),
    "of_probabilities": lambda t, a: a.clone().bernoulli_(a),
    "dropout": lambda t, a: t.nn.functional.dropout(a, 0.5),
    "native_dropout": lambda t, a: t.native_dropout(a, 0.5, True)[0],
    "alpha_dropout": lambda t, a: t.nn.functional.alpha_dropout(a, 0.5, True),
    "gumbel_softmax": lambda t, a: t.nn.functional.gumbel_softmax(a),
    "multinomial": lambda t, a: t.multinomial(a + 0.1, 2),
    "multinomial_again": lambda t, a: t.multinomial(a + 0.1, 3, replacement=True),
    "normal_of_means": lambda t, a: t.normal(a, 1.0),
    "normal_of_both": lambda t, a: t.normal(a, a),
    "normal_of_deviations": lambda t, a: t.normal(0.0, a),
    "rand_like": lambda t, a: t.rand_like(a),
    "randn_like": lambda t, a: t.randn_like(a),
    "randint_like": lambda t, a: t.randint_like(a, 10),
    "rand": lambda t, a: t.rand(3) + a.sum() * 0,
    "randn": lambda t, a: t.randn(3) + a.sum() * 0,
    "randint": lambda t, a: t.randint(10, (3,)) + a.sum() * 0,
    "uniform_": lambda t, a: a.clone().uniform_(),
    "normal_": lambda t, a: a.clone().normal_(),
    "exponential_": lambda t, a: a.clone().exponential_(),
    "poisson": lambda t, a: t.poisson(a * 5),
    "binomial": lambda t, a: t.binomial(t.full_like(a, 5.0), a),
}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("randomness", ["different", "same"])
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("name", ACTS)
def test_the_numbers(name: str, dim: int, randomness: str) -> None:
    def drawn(t: Any) -> Any:
        t.manual_seed(3)
        x = t.arange(24.0).reshape(2, 3, 4) / 24
        mapped = t.vmap(lambda a: ACTS[name](t, a), in_dims=dim, randomness=randomness)
        try:
            return mapped(x), t.rand(2)
        except RuntimeError as error:
            return str(error)[:60]

    compare(drawn)


def test_a_probability_for_each_example() -> None:
    def drawn(t: Any) -> Any:
        t.manual_seed(3)
        x, p = t.ones(3, 4, 2), t.arange(12.0).reshape(4, 3) / 12
        act = t.vmap(
            lambda a, b: a.clone().bernoulli_(b[:, None]), in_dims=(1, 0), randomness="different"
        )
        return act(x, p)

    compare(drawn)
