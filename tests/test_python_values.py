"""Numbers that Python asks of a tensor."""

import warnings

import pytest

import torchlike
from torchlike._core import errors


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch):
    monkeypatch.setattr(errors, "_given", set())


@pytest.mark.parametrize("number", [float, complex, lambda x: "%.2f" % x])  # noqa: UP031
def test_a_number_whose_gradient_is_lost_is_warned_of_once(number):
    x = torchlike.tensor(1.5, requires_grad=True)
    with pytest.warns(UserWarning, match="to a scalar may lead to unexpected behavior"):
        number(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        number(x)


@pytest.mark.parametrize("number", [int, bool, lambda x: x.item(), lambda x: f"{x:.2f}"])
def test_numbers_that_tell_no_one(number):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        number(torchlike.tensor(1.5, requires_grad=True))


def test_without_gradients_there_is_nothing_to_lose():
    x = torchlike.tensor(1.5, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(x.detach()) == 1.5
        with torchlike.no_grad():
            assert float(x) == 1.5
