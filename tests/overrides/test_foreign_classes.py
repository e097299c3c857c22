"""A class that is no tensor is asked by an op that meets it, whether anything was asked before."""

from __future__ import annotations

import contextlib
import inspect
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


class Number(float):
    __torch_function__ = Foreign.__torch_function__


T = torch.ones(2, 2)


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        (lambda: torch.reshape(X, (2,)), torch.reshape),
        (lambda: torch.softmax(X, 0), torch.softmax),
        (lambda: torch.nn.functional.relu(X), torch.nn.functional.relu),
        (lambda: torch.nn.functional.cross_entropy(T, X), torch.nn.functional.cross_entropy),
        (lambda: torch.orgqr(X, X), torch.orgqr),
        (lambda: torch.einsum("ij->ji", X), torch.einsum),
        (lambda: torch.cat([T, X]), torch.cat),
        (lambda: T + X, torch.Tensor.add),
        (lambda: T == X, torch.Tensor.__eq__),
        (lambda: T + Number(1), torch.Tensor.add),
        (lambda: torch.clamp(T, Number(1)), torch.clamp),
        (lambda: T[X], torch.Tensor.__getitem__),
        (lambda: torch.nn.init.uniform_(X), torch.nn.init.uniform_),
        (lambda: torch.autograd.grad(T, X), torch.autograd.grad),
        (lambda: torch.autograd.backward([X]), torch.autograd.backward),
        (lambda: torch.sym_sum([X, 1]), torch.sym_sum),
        (lambda: torch.result_type(T, X), torch.result_type),
        (lambda: torch.can_cast(X, torch.int32), torch.can_cast),
    ],
)
def test_the_function_that_was_called_is_asked_at_once(call: Callable[[], Any], asked: Any) -> None:
    assert call()[0] is asked


@pytest.mark.parametrize(("index", "value"), [(X, 1), (0, X), (slice(2), X)])
def test_an_assignment_asks_and_writes_nothing(index: Any, value: Any) -> None:
    t = torch.zeros(2)
    t[index] = value
    assert t.tolist() == [0, 0]


@pytest.mark.parametrize("index", [0, slice(2)])
def test_an_object_without_a_value_is_not_assigned(index: Any) -> None:
    t = torch.zeros(2)
    with pytest.raises(TypeError, match=r"can't assign a object to a torch\.FloatTensor"):
        t[index] = object()


def test_a_function_that_writes_has_written_nothing_before_it_asks() -> None:
    for function in (torch.Tensor.index_put_, torch.Tensor.copy_, torch.Tensor.div_):
        code_exchange.undo()
        t = T.clone()
        version = t._version
        with contextlib.suppress(TypeError, IndexError):
            function(t, X) if function is not torch.Tensor.index_put_ else function(t, (T,), X)
        assert t._version == version
        assert t.tolist() == T.tolist()


def test_of_a_class_that_is_not_to_be_asked_the_error_comes_through() -> None:
    with (
        torch._C.DisableTorchFunctionSubclass(),
        pytest.raises(TypeError, match="must be Tensor, not Foreign"),
    ):
        torch.reshape(X, (2,))


def test_other_classes_get_pytorchs_words() -> None:
    other: Any = object()
    with pytest.raises(TypeError, match=r"must be Tensor, not object$"):
        torch.mean(other)
    assert not overrides.are_enabled()


def _required(function: Any, dummy: Any) -> tuple[Any, ...]:
    """Return a fresh foreign object for each argument that a function must have."""
    names = [
        p.name
        for p in inspect.signature(dummy).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return tuple([Foreign()] if n in ("tensors", "tensor_list") else Foreign() for n in names)


def _asked(function: Any, args: tuple[Any, ...]) -> Any:
    try:
        found = function(*args)
    except Exception:
        return None
    return found[0] if isinstance(found, tuple) and len(found) == 3 else None


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_all_functions_ask_at_first_as_they_do_later() -> None:
    right, wrong = 0, []
    for function, dummy in torch.overrides.get_testing_overrides().items():
        qualified = getattr(function, "__qualname__", "property.")
        args = () if "." in qualified else _required(function, dummy)
        code_exchange.undo()
        overrides.enable()
        expected = _asked(function, args) if args else None
        if expected is None:
            continue
        code_exchange.undo()
        if _asked(function, args) is expected:
            right += 1
        else:
            wrong.append(qualified)
    assert wrong == []
    assert right > 350


def test_copies_and_other_names_ask_for_themselves() -> None:
    for function in (torch.arcsin, torch.Tensor.asin, torch.asin, torch.negative, torch.clip):
        code_exchange.undo()
        assert function(X, *[X] * (function is torch.clip))[0] is function
    code_exchange.undo()
    assert torch.addmm(X, X, X) == (torch.addmm, (X, X, X), {})
