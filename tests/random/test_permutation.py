"""The shuffles computed at once, against the loops that define them."""

from __future__ import annotations

import numpy as np
import pytest

from torchlike.random import fills, permutation
from torchlike.random.engine import Engine

SIZES = [0, 1, 2, 3, 4, 5, 7, 16, 33, 100, 1000, 4097]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("seed", range(4))
def test_swap_forward(n, seed):
    words = Engine(seed).words32(max(n - 1, 0))
    expected = list(range(n))
    for i, word in enumerate(words.tolist()):
        k = i + word % (n - i)
        expected[i], expected[k] = expected[k], expected[i]
    assert permutation.swap_forward(words, n).tolist() == expected


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("seed", range(4))
def test_inside_out(n, seed):
    words = Engine(seed).words64(n)
    expected = [0] * n
    for i, word in enumerate(words.tolist()):
        k = word % (i + 1)
        expected[i] = expected[k]
        expected[k] = i
    assert permutation.inside_out(words).tolist() == expected


@pytest.mark.parametrize("targets", ["all own", "all last", "next"])
def test_degenerate_shuffles(targets):
    n = 50
    own = np.arange(n - 1)
    offsets = {
        "all own": own * 0,
        "all last": n - 1 - own,
        "next": own * 0 + 1,
    }[targets]
    words = offsets.astype(np.uint32)
    expected = list(range(n))
    for i, word in enumerate(words.tolist()):
        k = i + word % (n - i)
        expected[i], expected[k] = expected[k], expected[i]
    assert permutation.swap_forward(words, n).tolist() == expected


def test_a_large_n_takes_the_other_shuffle(monkeypatch):
    monkeypatch.setattr(permutation, "LARGE", 100)
    engine, other = Engine(2), Engine(2)
    got = fills.randperm(engine, 100, np.dtype("int64"))
    assert got.tolist() == permutation.inside_out(other.words64(100)).tolist()
    assert sorted(fills.randperm(engine, 99, np.dtype("int64")).tolist()) == list(range(99))


@pytest.mark.parametrize(
    ("n", "dtype", "error", "words"),
    [
        (-1, "int64", RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
        (257, "uint8", RuntimeError, "value cannot be converted to type uint8_t without overflow"),
        (2050, "float16", RuntimeError, "n cannot be greater than 2049 for Half type."),
        (2, "bool", NotImplementedError, "\"randperm\" not implemented for 'Bool'"),
    ],
)
def test_refusals(n, dtype, error, words):
    with pytest.raises(error) as got:
        fills.randperm(Engine(), n, np.dtype(dtype))
    assert str(got.value) == words
