"""Arguments that are equal and not the same, the same and not equal, or gone."""

import numpy as np
import pytest

import torchlike as torch


def value(t):
    return t.detach().reshape(-1)[0].item()


def one():
    return torch.ones(2)


def test_equal_objects_are_not_the_same_argument():
    class Named:
        def __init__(self, k):
            self.k = k

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    f = torch.jit(lambda x, n: x * n.k)
    assert value(f(one(), Named(2.0))) == 2
    assert value(f(one(), Named(3.0))) == 3


def test_an_unhashable_argument_does_not_pass_for_a_later_one_at_its_address():
    f = torch.jit(lambda x, n: x * n.k)

    class Unhashable:
        __hash__ = None

        def __init__(self, k):
            self.k = k

    for k in (2.0, 3.0, 4.0, 5.0):
        assert value(f(one(), Unhashable(k))) == k


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("first", "second"), [(1, True), (1, 1.0), (0.0, -0.0), (2.0, np.float64(2.0)), (0, False)]
)
def test_equal_numbers_of_different_kinds_are_different_arguments(first, second):
    def f(x, k):
        return x * k if not isinstance(k, bool) else x * 10 * k

    jitted = torch.jit(f)
    for k in (first, second):
        eager = f(torch.ones(2, dtype=torch.int64), k)
        got = jitted(torch.ones(2, dtype=torch.int64), k)
        assert got.dtype == eager.dtype
        assert np.array_equal(np.signbit(got.numpy()), np.signbit(eager.numpy()))
        assert got.tolist() == eager.tolist()


def test_nan_as_argument_compiles_once():
    f = torch.jit(lambda x, k: x + k)
    for _ in range(3):
        assert np.isnan(value(f(one(), float("nan"))))
    assert f.compiles == 1
