"""What is checked of sparse tensors: their invariants, and gradients of functions of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.layouts import sparse_coo
from torchlike.autograd.gradcheck import of_values as converters
from torchlike.sparse._geometry import WithoutMemory

_torch = NAMESPACES[""]


class check_sparse_tensor_invariants:
    """Whether the order of indices is checked as sparse tensors are made: a context manager and a
    decorator, with ``enable()``, ``disable()`` and ``is_enabled()``.

    Differs from PyTorch: that indices are in range is always checked, except in a compiled
    function, which does not look at values.
    """

    _enabled = False

    @staticmethod
    def is_enabled() -> bool:
        """Return whether the checks were last switched on."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Switch the checks of indices on."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Switch the checks of indices off."""
        check_sparse_tensor_invariants._enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self.saved_state = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *exc: object) -> None:
        if self.saved_state is None:
            raise RuntimeError("the context manager was not entered")
        check_sparse_tensor_invariants._enabled = self.saved_state
        self.saved_state = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return called


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``gradcheck`` for functions of sparse tensors, whose sparse results are compared
    densely.

    Numbers are varied in the values of each sparse input: at all places of the tensor, or with
    ``masked=True`` at those that it has elements at. Errors are gradcheck's.
    """

    def with_sparse_support(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> Any:
        given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        converted, leaves = _of_values(func, given, kwargs.pop("masked", False))

        def dense(*values: Any) -> Any:
            found = converted(*values)
            if isinstance(found, (tuple, list)):
                return tuple(map(_densely, found))
            return _densely(found)

        return gradcheck(dense, leaves, **kwargs)

    return with_sparse_support


def _densely(t: Any) -> Any:
    return t.to_dense() if isinstance(t, WithoutMemory) else t


def _of_values(
    func: Callable[..., Any], given: tuple[Any, ...], masked: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function of the values of sparse inputs, and those values."""
    patterns = [_pattern(t, masked) for t in given]
    if not any(pattern is not None for pattern in patterns):
        return func, given
    leaves = tuple(
        t if pattern is None else pattern._held.detach().clone().requires_grad_(t.requires_grad)
        for t, pattern in zip(given, patterns, strict=True)
    )

    def of_values(*values: Any) -> Any:
        return func(
            *(
                value if pattern is None else pattern._with(value)
                for value, pattern in zip(values, patterns, strict=True)
            )
        )

    return of_values, leaves


def _pattern(t: Any, masked: bool) -> Any:
    """Return the tensor whose values are varied for a sparse one, or None for others."""
    if not isinstance(t, WithoutMemory):
        return None
    if masked:
        return t.coalesce() if t.layout is sparse_coo else t
    whole: Any = _torch["ones"](tuple(t.shape), dtype=t.dtype)
    if t.layout is sparse_coo:
        everywhere = whole.to_sparse(t.sparse_dim())
    else:
        of_rows: Any = t
        everywhere = whole.to_sparse(
            layout=t.layout, blocksize=of_rows.blocksize(), dense_dim=t.dense_dim() or None
        )
    return t.detach().to_dense().sparse_mask(everywhere)


converters.append(_of_values)
