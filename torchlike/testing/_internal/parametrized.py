"""Tests of a class that are run for several arguments, each as a test with a name of its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torchlike._core.devices import device as Device
from torchlike._core.dtypes import dtype as Dtype


@dataclass
class subtest:
    """Arguments of one test, with a name and decorators of its own."""

    arg_values: Any
    name: str | None = None
    decorators: Sequence[Callable[..., Any]] = ()


class parametrize:
    """Run a test for each of several values: ``@parametrize("x", [1, 2])``, or several arguments
    at once: ``@parametrize("x,y", [(1, 2), subtest((3, 4), name="large")])``.

    Each becomes a test when the class is given to `instantiate_parametrized_tests`. The names are
    PyTorch's: ``test_x_1``.
    """

    def __init__(
        self,
        arg_str: str,
        arg_values: Iterable[Any],
        name_fn: Callable[..., str] | None = None,
    ) -> None:
        self.arg_names = [name.strip() for name in arg_str.split(",") if name.strip()]
        self.arg_values = list(arg_values)
        self.name_fn = name_fn
        if not self.arg_values:
            raise ValueError(f"parametrize({arg_str!r}): there are no values")

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        fn._parametrized = [self, *getattr(fn, "_parametrized", ())]  # type: ignore[attr-defined]
        return fn

    def cases(self) -> Iterator[tuple[str, dict[str, Any], Sequence[Callable[..., Any]]]]:
        """Yield the suffix, the arguments and the decorators of each test."""
        for i, case in enumerate(self.arg_values):
            given = case if isinstance(case, subtest) else subtest(case)
            values = given.arg_values if len(self.arg_names) > 1 else [given.arg_values]
            if len(values) != len(self.arg_names):
                raise RuntimeError(
                    f"Expected # values == # arg names, but got: {len(values)} values"
                )
            arguments = dict(zip(self.arg_names, values, strict=True))
            if given.name is not None:
                suffix = given.name
            elif self.name_fn is not None:
                suffix = self.name_fn(*values)
            else:
                suffix = "_".join(_named(n, v, i) for n, v in arguments.items())
            yield suffix, arguments, given.decorators


def _named(name: str, value: Any, index: int) -> str:
    """Return how a value is named in a test's name: by itself where that is short."""
    if isinstance(value, Dtype):
        return str(value).partition(".")[2]
    if isinstance(value, Device):
        return str(value).replace(":", "_")
    if isinstance(value, (int, float, str)):
        return f"{name}_{str(value).replace('.', '_')}"
    return f"{name}{index}"


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Put the tests that ``parametrize`` asks for into a class, in place of the functions, and
    return it. RuntimeError for two of one name."""
    for name, function in list(vars(generic_cls).items()):
        marks = getattr(function, "_parametrized", None)
        if marks is None:
            continue
        delattr(generic_cls, name)
        for suffix, arguments, decorators in _products(marks):
            full = f"{name}_{suffix}"
            if hasattr(generic_cls, full):
                raise RuntimeError(f"Redefinition of test {full}")
            setattr(generic_cls, full, _made(function, full, arguments, decorators))
    return generic_cls


def _products(
    marks: Sequence[parametrize],
) -> Iterator[tuple[str, dict[str, Any], Sequence[Callable[..., Any]]]]:
    if not marks:
        yield "", {}, ()
        return
    for suffix, arguments, decorators in marks[0].cases():
        for rest, more, others in _products(marks[1:]):
            name = "_".join(part for part in (suffix, rest) if part)
            yield name, {**arguments, **more}, (*decorators, *others)


def _made(
    function: Callable[..., Any],
    name: str,
    arguments: dict[str, Any],
    decorators: Sequence[Callable[..., Any]],
) -> Callable[..., Any]:
    """Return the test of some arguments."""

    @functools.wraps(function)
    def test(self: Any) -> Any:
        return function(self, **arguments)

    del test._parametrized  # type: ignore[attr-defined]
    signature = inspect.signature(function)
    left = [p for n, p in signature.parameters.items() if n not in arguments]
    test.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
    test.__name__ = name
    made: Callable[..., Any] = test
    for decorator in decorators:
        made = decorator(made)
    return made
