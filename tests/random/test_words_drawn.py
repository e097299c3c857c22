"""How many words each fill takes: what its docstring says, and so what comes after it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from torchlike.random import fills
from torchlike.random.engine import Engine
from torchlike.random.topk_order import largest

F32, F64, F16 = np.dtype("float32"), np.dtype("float64"), np.dtype("float16")
BF16, C64, I64 = np.dtype(ml_dtypes.bfloat16), np.dtype("complex64"), np.dtype("int64")
I32, U8 = np.dtype("int32"), np.dtype("uint8")

CASES = [
    (lambda e: fills.uniform(e, (5, 3), F32), 15),
    (lambda e: fills.uniform(e, (5, 3), BF16, -1.0, 2.0), 15),
    (lambda e: fills.uniform(e, (5, 3), F64), 30),
    (lambda e: fills.uniform(e, (5, 3), C64), 30),
    (lambda e: fills.uniform(e, (0, 3), F32), 0),
    (lambda e: fills.normal(e, (14,), F32), 28),
    (lambda e: fills.normal(e, (15,), F32), 32),
    (lambda e: fills.normal(e, (16,), F32), 16),
    (lambda e: fills.normal(e, (17,), F32), 33),
    (lambda e: fills.normal(e, (17,), F64), 66),
    (lambda e: fills.normal(e, (17,), F16), 32),
    (lambda e: fills.normal(e, (9,), C64), 34),
    (lambda e: fills.normal(e, (32,), F32, 0.0, 1.0, False), 64),
    (lambda e: fills.normal(e, (0,), F32), 0),
    (lambda e: fills.random(e, (9,), I32), 9),
    (lambda e: fills.random(e, (9,), I64), 18),
    (lambda e: fills.random(e, (9,), F64), 18),
    (lambda e: fills.randint(e, (9,), I64, 0, 2**28 - 1), 9),
    (lambda e: fills.randint(e, (9,), I32, 0, 2**28), 18),
    (lambda e: fills.random(e, (9,), I32, 0, None), 18),
    (lambda e: fills.randperm(e, 9, I64), 8),
    (lambda e: fills.bernoulli(e, (9,), U8, 0.0), 18),
    (lambda e: fills.bernoulli_mask(e, (9,), 1.0), 18),
    (lambda e: fills.bernoulli_tensor(e, (9,), F64, np.full(9, 0.5, np.float16)), 9),
    (lambda e: fills.bernoulli_tensor(e, (9,), F32, np.full(9, 0.5)), 18),
    (lambda e: fills.exponential(e, (9,), F16), 18),
    (lambda e: fills.geometric(e, (9,), I64, 0.5), 18),
    (lambda e: fills.cauchy(e, (9,), F64), 18),
    (lambda e: fills.log_normal(e, (40,), F32), 80),
    (lambda e: fills.multinomial(e, np.ones((3, 5)), 2), 30),
    (lambda e: fills.multinomial(e, np.ones((3, 5)), 1, True), 30),
    (lambda e: fills.multinomial(e, np.ones((3, 5)), 7, True), 42),
    (lambda e: fills.poisson(e, np.zeros(9)), 0),
    (lambda e: fills.binomial(e, np.array([0.0, 5.0, 5.0]), np.array([0.5, 0.0, 1.0])), 0),
    (lambda e: fills.standard_gamma(e, np.zeros(9)), 0),
    (lambda e: fills.dropout_noise(e, (2, 4), F32, 0.5), 16),
    (lambda e: fills.dropout_noise(e, (2, 4), F32, 0.0), 0),
    (lambda e: fills.dropout_mask(e, (2, 4), 1.0), 0),
    (lambda e: fills.alpha_dropout_noise(e, (2, 4), F32, 0.5), 16),
    (lambda e: fills.rrelu_slopes(e, np.array([1.0, -1.0, 0.0, 2.0, np.nan]), 0.1, 0.3), 4),
    (lambda e: fills.trunc_normal(e, (16,), F32, 0.0, 1.0, -9.0, 9.0), 16),
    # std so large that every uniform candidate is accepted at once.
    (lambda e: fills.trunc_normal(e, (16,), F32, 0.0, 1e9, -1.0, 1.0), 32),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_words_drawn(case):
    fill, words = CASES[case]
    engine, other = Engine(5), Engine(5)
    fill(engine)
    other.words32(words)
    assert engine.words32(3).tolist() == other.words32(3).tolist()


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_fill_is_a_function_of_the_state(case):
    """Same state, same values: what makes recording and re-running a fill right."""
    fill, _ = CASES[case]
    engine = Engine(6)
    fills.normal(engine, (3,), F32)
    first, again = fill(engine.copy()), fill(engine.copy())
    parts = zip(first, again, strict=True) if isinstance(first, tuple) else [(first, again)]
    for a, b in parts:
        assert isinstance(a, np.ndarray)
        assert a.tobytes() == b.tobytes()


REFUSED = [
    (
        lambda e: fills.uniform(e, (3,), F32, 1.0, 0.0),
        RuntimeError,
        "uniform_ expects to return a [from, to) range, but found from=1 > to=0",
    ),
    (
        lambda e: fills.uniform(e, (3,), I64),
        NotImplementedError,
        "\"check_uniform_bounds\" not implemented for 'Long'",
    ),
    (
        lambda e: fills.normal(e, (3,), F32, 0.0, -1.0),
        RuntimeError,
        "normal expects std >= 0.0, but found std -1",
    ),
    (
        lambda e: fills.randint(e, (3,), U8, 0, 300),
        RuntimeError,
        "to - 1 is out of bounds for unsigned char",
    ),
    (
        lambda e: fills.randint(e, (3,), I64, 5, 3),
        RuntimeError,
        "random_ expects 'from' to be less than 'to', but got from=5 >= to=3",
    ),
    (
        lambda e: fills.bernoulli(e, (3,), F32, 2.0),
        RuntimeError,
        "bernoulli_ expects p to be in [0, 1], but got p=2",
    ),
    (
        lambda e: fills.exponential(e, (3,), F32, 0.0),
        RuntimeError,
        "exponential_ expects lambda > 0.0, but found lambda=0",
    ),
    (
        lambda e: fills.multinomial(e, np.zeros(3), 1),
        RuntimeError,
        "invalid multinomial distribution (sum of probabilities <= 0)",
    ),
    (
        lambda e: fills.multinomial(e, np.ones(3), 4),
        RuntimeError,
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
    ),
    (
        lambda e: fills.poisson(e, np.array([-1.0])),
        RuntimeError,
        "invalid Poisson rate, expected rate to be non-negative",
    ),
    (
        lambda e: fills.binomial(e, np.array([np.nan]), np.array([0.5])),
        ValueError,
        "binomial expects every count to be a number, but one is nan",
    ),
    (
        lambda e: fills.dropout_noise(e, (3,), F32, 1.5),
        RuntimeError,
        "dropout probability has to be between 0 and 1, but got 1.5",
    ),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refusals_draw_nothing(case):
    fill, error, words = REFUSED[case]
    engine = Engine(5)
    before = engine.get_state().tobytes()
    with pytest.raises(error) as got:
        fill(engine)
    assert str(got.value) == words
    assert engine.get_state().tobytes() == before


def test_floats_that_skip_integers_warn():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        fills.randint(Engine(), (3,), F32, 0, 2**26)


@pytest.mark.parametrize("seed", range(30))
def test_largest_is_a_descending_selection(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 400))
    values = rng.integers(0, rng.integers(1, 500), n).astype(np.float64)
    k = int(rng.integers(1, n + 1))
    chosen = largest(values, k)
    assert len(set(chosen.tolist())) == k
    assert values[chosen].tolist() == sorted(values.tolist(), reverse=True)[:k]
