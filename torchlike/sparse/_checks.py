"""What is checked of sparse tensors: their invariants, and gradients of functions of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._core.layouts import sparse_coo
from torchlike._dispatch.registry import NAMESPACES
from torchlike.autograd.gradcheck import of_sparse
from torchlike.sparse._geometry import WithoutMemory

_torch = NAMESPACES[""]


class check_sparse_tensor_invariants:
    """Whether indices are checked as sparse tensors are made: a context manager and a decorator,
    with ``enable()``, ``disable()`` and ``is_enabled()``.

    Differs from PyTorch: indices are always checked, except in a compiled function, which does not
    look at values. The switch is remembered.
    """

    _enabled = False

    @staticmethod
    def is_enabled() -> bool:
        """What was said last."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable() -> None:
        """Say that indices are to be checked."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Say that they are not."""
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
    """``gradcheck`` for functions of sparse tensors.

    Numbers are varied in the values of each sparse input: at all places of the tensor, or with
    ``masked=True`` at those that it has elements at. Sparse results are compared densely. Errors
    are gradcheck's.
    """

    def with_sparse_support(func: Callable[..., Any], inputs: Any, **kwargs: Any) -> Any:
        masked = kwargs.pop("masked", False)
        given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        of_values, leaves = by_values(func, given, masked)
        return gradcheck(of_values, leaves, **kwargs)

    return with_sparse_support


def by_values(
    func: Callable[..., Any], given: tuple[Any, ...], masked: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function and its inputs with the values of each sparse one in its place; sparse results
    are dense."""
    patterns = [_pattern(t, masked) for t in given]
    if not any(pattern is not None for pattern in patterns):
        return func, given
    leaves = [
        t if pattern is None
        else pattern._held.detach().clone().requires_grad_(t.requires_grad)
        for t, pattern in zip(given, patterns, strict=True)
    ]  # fmt: skip

    def of_values(*values: Any) -> Any:
        found = func(*(
            value if pattern is None else pattern._with(value)
            for value, pattern in zip(values, patterns, strict=True)
        ))  # fmt: skip
        results = found if isinstance(found, (tuple, list)) else (found,)
        dense = tuple(r.to_dense() if isinstance(r, WithoutMemory) else r for r in results)
        return dense if isinstance(found, (tuple, list)) else dense[0]

    return of_values, tuple(leaves)


of_sparse.append(by_values)


def _pattern(t: Any, masked: bool) -> Any:
    """The tensor whose values are varied for a sparse one; None for others."""
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
