"""A class that is no tensor is asked by an op that meets it, whether anything was asked before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import torchlike as torch
from torchlike._core import overrides
from torchlike._extensions.overrides import code_exchange


class Foreign:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func, args, kwargs or {}


X: Any = Foreign()


@pytest.fixture(autouse=True)
def asleep() -> Iterator[None]:
    code_exchange.undo()
    assert not overrides.are_enabled()
    yield
    code_exchange.undo()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: torch.mean(X), (torch.mean, (X,), {})),
        (lambda: torch.mean(X, dim=0), (torch.mean, (X,), {"dim": 0})),
        (lambda: torch.matmul(X, X), (torch.matmul, (X, X), {})),
        (lambda: torch.relu(X), (torch.relu, (X,), {})),
        (lambda: torch.stack([X], dim=1), (torch.stack, ([X],), {"dim": 1})),
    ],
)
def test_an_op_that_meets_the_class_first_asks_it(
    call: Callable[[], Any], expected: tuple[Any, ...]
) -> None:
    assert call() == expected


def test_elsewhere_the_error_says_that_the_next_call_asks() -> None:
    with pytest.raises(TypeError, match=r"must be Tensor, not Foreign") as caught:
        torch.reshape(X, (2,))
    assert type(caught.value) is TypeError
    assert "__torch_function__, which is asked from the next call on" in caught.value.__notes__[0]
    assert torch.reshape(X, (2,)) == (torch.reshape, (X, (2,)), {})


def test_other_classes_get_pytorchs_words() -> None:
    other: Any = object()
    with pytest.raises(TypeError, match=r"must be Tensor, not object$"):
        torch.mean(other)
    assert not overrides.are_enabled()


#: What reports another function from the second call on: ``-x`` is ``neg``.
OTHER_NAMES = {"relu", "selu", "celu", "__neg__", "__abs__"}


def _answer(function: Callable[..., Any], count: int) -> Any:
    """Which function was asked for, "the next call" or None, for so many foreign arguments."""
    try:
        found = function(*[X] * count)
    except Exception as error:
        if type(error) is TypeError and overrides.is_unasked(error):
            return "the next call"
        return None  # of too few arguments, or of their kind
    return found[0] if isinstance(found, tuple) and len(found) == 3 else None


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
def test_all_functions_are_asked_at_first_or_say_that_they_will_be() -> None:
    """A first call is as a later one, or its error says so; ops are asked at once, each under the
    name that was called."""
    right, later, wrong = 0, 0, []
    for function in list(torch.overrides.get_testing_overrides())[::8]:
        code_exchange.undo()
        overrides.enable()
        count = next((n for n in range(2, 6) if _answer(function, n) is not None), None)
        if count is None:
            continue
        expected = _answer(function, count)
        code_exchange.undo()
        first, second = _answer(function, count), _answer(function, count)
        if first == expected:
            right += 1
        elif first == "the next call" and second == expected:
            later += 1
        elif first is not None:  # asked under another name
            wrong.append(getattr(function, "__name__", str(function)))
    assert right >= 15
    assert later
    assert set(wrong) <= OTHER_NAMES


def test_copies_and_other_names_ask_for_themselves() -> None:
    for function in (torch.arcsin, torch.Tensor.asin, torch.asin, torch.negative, torch.clip):
        code_exchange.undo()
        assert function(X, *[X] * (function is torch.clip))[0] is function
    code_exchange.undo()
    assert torch.addmm(X, X, X) == (torch.addmm, (X, X, X), {})
