"""Arguments that Python calls equal are told apart where code can see a difference."""

import pytest

import torchlike as torch


@pytest.mark.parametrize(
    ("read", "first", "second"),
    [
        (lambda r: r.stop, range(0, 3, 2), range(0, 4, 2)),
        (lambda r: len(r), range(0, 3, 2), range(0, 5, 2)),
        (lambda s: sum(type(x) is bool for x in s), frozenset([1]), frozenset([True])),
        (lambda s: len(str(*s)), frozenset([1]), frozenset([1.0])),
        (lambda s: str(*s) == "-0.0", frozenset([0.0]), frozenset([-0.0])),
        (lambda s: next(iter(s)), frozenset([0, 8]), frozenset([8, 0])),
        (lambda d: sum(type(x) is bool for x in d), {1: 2}, {True: 2}),
        (lambda d: len(str(*d)), {1: 2}, {1.0: 2}),
        (lambda s: type(s[0]) is bool, (1,), (True,)),
        (lambda s: s.stop is True, slice(1), slice(True)),
    ],
)
def test_equal_arguments(read, first, second):
    call = torch.jit(lambda t, x: t + float(read(x)))
    t = torch.zeros(())
    for x in (first, second, first):
        assert float(call(t, x)) == float(read(x))


def test_arguments_without_a_difference_share_a_program():
    call = torch.jit(lambda t, r, s: t + len(r) + len(s))
    numbers = [1, 2.0]
    for _ in range(3):
        pair = tuple(numbers)  # another object each time
        call(torch.zeros(()), range(3), frozenset(["a", 2.0, None, pair]))
    assert call.compiles == 1
