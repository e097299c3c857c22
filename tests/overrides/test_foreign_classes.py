"""A class that is no tensor is asked by an op that meets it, whether anything was asked before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import torchlike as torch
from torchlike._core import protocol
from torchlike._dispatch import asking


class Foreign:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func, args, kwargs or {}


X = Foreign()


@pytest.fixture(autouse=True)
def asleep() -> Iterator[None]:
    asking.rest()
    assert not protocol.is_awake()
    yield
    asking.rest()


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
    with pytest.raises(TypeError, match=r"must be Tensor, not Foreign. It has __torch_function__"):
        torch.reshape(X, (2,))
    assert torch.reshape(X, (2,)) == (torch.reshape, (X, (2,)), {})


def test_other_classes_get_pytorchs_words() -> None:
    with pytest.raises(TypeError, match=r"must be Tensor, not object$"):
        torch.mean(object())
    assert not protocol.is_awake()
