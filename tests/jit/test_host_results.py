"""Small results of a program on the CPU: host values, of which NumPy computes what comes next."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._runtime import first_calls


def is_on_host(t):
    return type(t._storage.cell) is np.ndarray


@pytest.fixture(autouse=True)
def by_numpy():
    with torch.compiler.set_first_calls("numpy"):
        yield


def two_numbers(x):
    y = x * 2
    return y.mean(), y.sum(), y


@pytest.mark.parametrize("requires_grad", [False, True])
def test_one_number_of_a_brief_program_is_on_the_host_at_once(requires_grad):
    jitted = torch.jit(two_numbers)
    x = torch.arange(6.0, requires_grad=requires_grad)
    for _ in range(3):  # traced, the general way, generated
        mean, total, y = jitted(x)
    assert (is_on_host(mean), is_on_host(total), is_on_host(y)) == (True, True, False)
    assert (mean.item(), total.item()) == (5.0, 30.0)
    both = (mean + total).mean()
    assert both.item() == 35.0
    if requires_grad:
        both.backward()
        assert x.grad.tolist() == pytest.approx([2.0 / 6 + 2.0] * 6)
    else:
        assert is_on_host(both)


def test_the_result_of_a_larger_program_is_not_waited_for_and_on_the_host_once_it_was_read():
    jitted, x = torch.jit(two_numbers), torch.ones(100, 100)
    for _ in range(3):
        mean, total, _ = jitted(x)
    assert not is_on_host(mean)
    assert mean.item() == 2.0
    assert (is_on_host(mean), is_on_host(total)) == (True, False)
    both = mean + total  # computed by NumPy, as one operand is there
    assert is_on_host(both)
    assert both.item() == 20002.0
    assert total.item() == 20000.0


def test_what_was_read_and_written_to_before_stays_where_it_is():
    seen, x = torch.zeros(()), torch.ones(100, 100)

    @torch.jit
    def count(x):
        seen.add_(x.sum())

    for k in range(1, 4):
        count(x)
        assert seen.item() == 10000.0 * k
        assert not is_on_host(seen)


def test_a_number_on_the_host_goes_into_programs_and_is_written_to():
    jitted, x = torch.jit(two_numbers), torch.arange(6.0)
    double = torch.jit(lambda t: t.mul_(2))
    for _ in range(3):
        mean, _, _ = jitted(x)
        kept = mean.clone()
        double(mean)
        mean += 1
    assert (mean.item(), kept.item()) == (11.0, 5.0)
    with pytest.raises(ValueError, match="read-only"):
        mean.detach()._value("a test")[...] = 0


def test_where_everything_is_compiled_nothing_is_on_the_host():
    jitted, x = torch.jit(two_numbers), torch.arange(6.0)
    with torch.compiler.set_first_calls("compiled"):
        for _ in range(3):
            mean, _, _ = jitted(x)
        assert not is_on_host(mean)
        mean.item()
        assert not is_on_host(mean)


@pytest.mark.parametrize(
    ("function", "is_brief"),
    [
        (lambda x: (x[:4] * 2).sum(), True),
        (lambda x: x.sum(), False),
        (lambda x: x[:20].reshape(4, 5) @ x[:20].reshape(5, 4), True),
        (lambda x: x[:400].reshape(20, 20) @ x[:400].reshape(20, 20), False),
    ],
)
def test_which_programs_are_brief(function, is_brief):
    jitted = torch.jit(function)
    jitted(torch.ones(1200))
    (program,) = jitted.programs()
    assert first_calls.is_brief(program.jaxpr().jaxpr) is is_brief
