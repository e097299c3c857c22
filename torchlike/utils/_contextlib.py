"""``torch.utils._contextlib``: context managers that also decorate functions and generators."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self

from torchlike.autograd.grad_mode import DecoratingContext

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


class _DecoratorContextManager(DecoratingContext):
    """The base class: each call of a decorated function enters what ``clone()`` gives."""

    def clone(self) -> Self:
        """Return an instance for one call; a subclass whose ``__init__`` takes arguments passes
        them on."""
        return type(self)()

    def _again(self) -> Self:
        return self.clone()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without brackets, too: ``@manager``."""

    def __new__(cls, orig_func: Any = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else cls()(orig_func)


class _Entering(DecoratingContext):
    """Enters what a function makes."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def _again(self) -> Any:
        return self._make()


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate ``func`` so that each call (of a generator, each step) runs inside a context
    manager.

    ctx: a context manager that can be entered more than once, or a function that makes one.

    AssertionError for something that is both; RuntimeError for a class in the place of ``func``.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), "
            "making it ambiguous which interface to use.  If you intended to pass a context "
            "manager factory, rewrite your call as context_decorator(lambda: ctx()); if you "
            "intended to pass a context manager directly, rewrite your call as "
            "context_decorator(lambda: ctx)"
        )
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all "
            "methods should have the context manager applied; additionally, decorating a class at "
            "definition-site will prevent use of the identifier as a conventional type.  To "
            "specify which methods to decorate, decorate each of them individually."
        )
    return _Entering(ctx if callable(ctx) else lambda: ctx)(func)
