"""Python numbers as arguments: static at first, traced once they keep changing."""

import gc
import logging
import math
import time

import pytest

import torchlike as torch


def x(n=5):
    return torch.arange(1.0, n + 1.0) / 7


def check(f, jitted, calls):
    """Values, dtypes and Python types as eagerly; how many programs there were after each call."""
    counts = []
    for args in calls:
        expected, found = f(*args), jitted(*args)
        expected = expected if isinstance(expected, tuple) else (expected,)
        found = found if isinstance(found, tuple) else (found,)
        for a, b in zip(expected, found, strict=True):
            assert type(a) is type(b)
            if isinstance(a, torch.Tensor):
                assert a.dtype == b.dtype
                assert a.tolist() == b.tolist()
            else:
                assert a == b
        counts.append(jitted.compiles)
    return counts


def test_an_argument_that_keeps_changing_is_traced():
    f = lambda x, lr: x * lr  # noqa: E731
    assert check(f, torch.jit(f), [(x(), 0.1 * k) for k in range(6)]) == [1, 2, 3, 3, 3, 3]


@pytest.mark.sampled(every=3, rest="full")
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("n", [(3, 5, 7), (0.1, 0.3, 1e30)])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: x * s,
        lambda x, s: s - x,
        lambda x, s: x.sum() * s,
        lambda x, s: torch.add(x, 1, alpha=2) > s,
        lambda x, s: torch.clamp(x, min=s),
        lambda x, s: torch.where(x > 0, x, s),
        lambda x, s: (x * (s * 2 + 1), s // 2, -s, abs(s - 4), 7 % (s + 1)),
        lambda x, s: (x + round(s, 1), s * 0.1 * 0.95**3, s < 4),
    ],
)
def test_promotion_and_bits_are_those_of_numbers(f, n, dtype):
    value = (x() * 10).to(dtype)
    if dtype is torch.float16:
        n = [min(s, 6e4) for s in n]  # as a bound, one that is no float16 is refused
    check(f, torch.jit(f, dynamic=True), [(value, s) for s in n])


def test_a_comparison_is_a_guard():
    def f(x, step):
        return x * 2 if step > 100 else x + step

    jitted = torch.jit(f, dynamic=True)
    assert check(f, jitted, [(x(), s) for s in (1, 5, 101, 102, 7, 200)]) == [1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: torch.zeros(n) + x[0],
        lambda x, n: sum(x[0] for _ in range(n)),
        lambda x, n: x * math.sqrt(n),
        lambda x, n: x * len(f"{n:>3}"),
        lambda x, n: x * [1, 2, 3, 4][n],
        lambda x, n: x * {1: 5, 2: 6, 3: 7}[n],
        lambda x, n: x * (1 if type(n) is int else 2),
        lambda x, n: x.max() * torch.tensor(n),
    ],
)
def test_where_the_value_is_needed_the_argument_stays_static(f):
    counts = check(f, torch.jit(f), [(x(), n) for n in (1, 2, 3, 1, 2, 3)])
    assert counts[2:] == [3, 3 if counts[-1] == 3 else counts[3], counts[-1], counts[-1]]
    assert counts[-1] <= 5


def test_only_the_argument_that_changes_is_traced():
    def f(x, a, n):
        return x.repeat(n) * a

    jitted = torch.jit(f)
    check(f, jitted, [(x(), 0.1 * k, 2) for k in range(5)])
    assert jitted.compiles == 3
    check(f, jitted, [(x(), 0.1 * k, 3) for k in range(5)])
    assert jitted.compiles == 4


def test_static_argnames_argnums_and_dynamic_false_never_trace():
    for options in (
        {"static_argnames": "k"},
        {"static_argnums": 1},
        {"dynamic": False},
        {"static_argnums": -1},
    ):
        f = torch.jit(lambda x, k: x * k, **options)
        for k in range(4):
            f(x(), float(k))
        assert f.compiles == 4


def test_options_are_checked():
    with pytest.raises(ValueError, match="no argument 'z'"):
        torch.jit(lambda x: x, static_argnames="z")
    with pytest.raises(ValueError, match="no argument 3"):
        torch.jit(lambda x: x, static_argnums=3)
    with pytest.raises(ValueError, match="dynamic"):
        torch.jit(lambda x: x, dynamic="yes")
    with pytest.raises(TypeError, match="declared static and is a tensor"):
        torch.jit(lambda x: x, static_argnums=0)(x())


def test_gradients_and_keyword_arguments_and_containers():
    w = torch.ones(3, requires_grad=True)
    f = torch.jit(lambda x, options, *, scale: (w * x * options["k"] * scale).sum())
    for k in range(6):
        w.grad = None
        f(torch.ones(3), {"k": float(k)}, scale=2).backward()
        assert w.grad.tolist() == [2.0 * k] * 3
    assert f.compiles == 3


def test_a_number_kept_outside_is_a_plain_number():
    seen = []

    def f(x, s):
        seen.append(s)
        return x * s

    jitted = torch.jit(f)
    for k in range(5):
        jitted(x(), float(k))
    assert all(type(s) is float for s in seen)


def test_an_error_of_the_body_is_raised_as_it_is():
    def f(x, n):
        if n > 2:
            raise KeyError("too many")
        return x * n

    jitted = torch.jit(f, dynamic=True)
    assert jitted(x(), 1).tolist() == x().tolist()
    with pytest.raises(KeyError, match="too many"):
        jitted(x(), 3)
    assert jitted(x(), 2).tolist() == (x() * 2).tolist()


def test_the_log_names_the_argument(caplog):
    f = torch.jit(lambda x, k: x * k)
    with caplog.at_level(logging.INFO, "torchlike.recompiles"):
        for k in range(5):
            f(x(), float(k))
    assert [r.getMessage().count("argument `k` changed") for r in caplog.records] == [1, 1]


def test_a_number_too_large_for_the_dtype_is_infinity_without_a_warning():
    f = lambda x: x * 1e30  # noqa: E731
    assert check(f, torch.jit(f), [(torch.ones(2, dtype=torch.float16),)]) == [1]


def test_what_a_garbage_collection_calls_is_no_part_of_the_function():
    # hypothesis times collections in such a callback; a clock in the function freezes its numbers.
    times = []
    gc.callbacks.append(lambda phase, info: times.append(time.perf_counter()))

    def f(x, s):
        gc.collect()
        return x * s

    try:
        assert check(f, torch.jit(f, dynamic=True), [(x(), 0.1), (x(), 0.2)]) == [1, 1]
    finally:
        gc.callbacks.pop()
    assert times


@pytest.mark.parametrize(
    "f",
    [
        lambda x, t: (x * t, f"{t:.2f}"),
        lambda x, t: (x + int(3 * t), t),
        lambda x, t: (x * math.cos(t), t),
    ],
    ids=["text", "int", "math"],
)
def test_a_number_that_became_static_again_returns_to_an_earlier_value(f):
    check(f, torch.jit(f), [(x(), t) for t in (0.1, 0.2, 0.3, 0.4, 0.3, 0.1, 0.4)])
