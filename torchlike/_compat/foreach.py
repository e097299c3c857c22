"""``torch._foreach_*``: one operator on each tensor of a list, for optimizers and averages.

Differs from PyTorch: a call is a loop over the operator (`torchlike.optim` has steps that are one
program), and ``grad_fn`` of a result is the operator's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchlike._core.casts import NUMBERS
from torchlike._core.dispatch.registry import export, names_with
from torchlike._ops import functions
from torchlike.tensor import Tensor

#: Name -> the operator with a tensor and with a number on the right.
_BINARY = {
    "add": ("add", "add"),
    "sub": ("sub", "sub"),
    "mul": ("mul", "mul"),
    "div": ("div", "div"),
    "pow": ("pow", "pow"),
    "maximum": ("clamp_min",) * 2,
    "clamp_min": ("clamp_min",) * 2,
    "minimum": ("clamp_max",) * 2,
    "clamp_max": ("clamp_max",) * 2,
}
#: What PyTorch's overloads call their second argument.
_RIGHT = ("other", "scalar", "scalars", "tensor", "exponent")
#: What stands for a list of itself.
_FOR_ALL = (*NUMBERS, np.number, Tensor)
_LENGTHS = "Tensor lists must have the same number of tensors, got {} and {}"
_EMPTY = "Tensor list must have at least one tensor."


def _tensors(name: str, given: Any, at: int = 0) -> Sequence[Tensor]:
    """Return a list of tensors after a check. TypeError for anything else, RuntimeError for an
    empty one."""
    if not isinstance(given, (list, tuple)):
        raise TypeError(
            f"{name}(): argument 'self' (position {at + 1}) must be tuple of Tensors, not "
            f"{type(given).__name__}"
        )
    if not given:
        raise RuntimeError(_EMPTY)
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument {at}, but got {type(t).__name__}"
            )
    return given


def _rows(name: str, n: int, given: Any) -> Sequence[Any]:
    """Return an argument for each of ``n`` tensors: a list of as many tensors or numbers, a number
    or a 0-dim tensor for all, or a vector of numbers. RuntimeError where their number differs."""
    if isinstance(given, _FOR_ALL):
        return [given.item() if isinstance(given, np.number) else given] * n
    if not isinstance(given, (list, tuple)):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got "
            f"(list, {type(given).__name__})"
        )
    if len(given) != n:
        if given and isinstance(given[0], Tensor):
            raise RuntimeError(_LENGTHS.format(n, len(given)))
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return given


def _one_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]) -> Any:
    """Take the one argument that is positional or has one of the names. TypeError for none or
    two."""
    found = [*args, *(kwargs.pop(n) for n in names if n in kwargs)]
    if len(found) != 1 or kwargs:
        said = ", ".join([*(type(a).__name__ for a in args), *kwargs])
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({said})")
    return found[0]


def _operator(name: str, in_place: bool) -> Callable[..., Any]:
    return getattr(Tensor, f"{name}_") if in_place else getattr(functions, name)


def _unary(name: str, in_place: bool) -> Callable[..., Any]:
    apply = _operator(name, in_place)

    def function(self: Any) -> Any:
        made = [apply(t) for t in _tensors(function.__name__, self)]
        return self if in_place else tuple(made)

    return function


def _binary(name: str, in_place: bool) -> Callable[..., Any]:
    with_tensor, with_number = (_operator(n, in_place) for n in _BINARY[name])

    def function(self: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:
        own = function.__name__
        if name == "pow" and isinstance(self, tuple(NUMBERS)):  # a number to the power of each
            return tuple(
                [
                    functions.pow(self, t)
                    for t in _tensors(own, _one_of(own, args, kwargs, _RIGHT), 1)
                ]
            )
        tensors = _tensors(own, self)
        given = _one_of(own, args, kwargs, _RIGHT)
        if isinstance(given, Tensor) and given.dim():
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {given.dim()} dimensions and "
                f"{given.numel()} elements."
            )
        lists = isinstance(given, (list, tuple)) and all(isinstance(t, Tensor) for t in given)
        if alpha is not None and not lists and not (name == "add" and isinstance(given, Tensor)):
            raise TypeError(
                f"{own}() received an invalid combination of arguments - got "
                f"(list, {type(given).__name__}, alpha={type(alpha).__name__})"
            )
        options = {} if alpha is None else {"alpha": alpha}
        made = [
            (with_tensor if isinstance(b, Tensor) else with_number)(a, b, **options)
            for a, b in zip(tensors, _rows(own, len(tensors), given), strict=True)
        ]
        return self if in_place else tuple(made)

    return function


def _pointwise(name: str, in_place: bool) -> Callable[..., Any]:
    apply = _operator(name, in_place)

    def function(self: Any, tensor1: Any, tensor2: Any, *args: Any, **kwargs: Any) -> Any:
        own = function.__name__
        tensors = _tensors(own, self)
        n = len(tensors)
        others = [_rows(own, n, _tensors(own, t, i)) for i, t in enumerate((tensor1, tensor2), 1)]
        value = 1
        if args or kwargs:
            value = _one_of(own, args, kwargs, ("value", "scalars"))
        values = _rows(own, n, value.tolist() if isinstance(value, Tensor) else value)
        made = [
            apply(t, a, b, value=v) for t, a, b, v in zip(tensors, *others, values, strict=True)
        ]
        return self if in_place else tuple(made)

    return function


def _lerp(name: str, in_place: bool) -> Callable[..., Any]:
    apply = _operator(name, in_place)

    def function(self: Any, tensors1: Any, *args: Any, **kwargs: Any) -> Any:
        own = function.__name__
        tensors = _tensors(own, self)
        ends = _rows(own, len(tensors), _tensors(own, tensors1, 1))
        given = _one_of(own, args, kwargs, ("weight", "weights", "scalars"))
        weights = _rows(own, len(tensors), given)
        made = [apply(t, e, w) for t, e, w in zip(tensors, ends, weights, strict=True)]
        return self if in_place else tuple(made)

    return function


def _foreach_zero_(self: Any) -> list[Any]:
    """Set every tensor of the list to zero."""
    for t in _tensors("_foreach_zero_", self):
        t.zero_()
    return self


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> list[Any]:
    """Copy to every tensor the values of its partner in ``src``."""
    tensors = _tensors("_foreach_copy_", self)
    sources = _rows("_foreach_copy_", len(tensors), _tensors("_foreach_copy_", src, 1))
    for t, s in zip(tensors, sources, strict=True):
        t.copy_(s)
    return self


def _foreach_clone(self: Any) -> tuple[Tensor, ...]:
    """Return a copy of every tensor."""
    return tuple([t.clone() for t in _tensors("_foreach_clone", self)])


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """Return the norm of each tensor's elements. RuntimeError for an infinite one of an empty
    tensor."""
    tensors = _tensors("_foreach_norm", self)
    if ord == float("inf") and not all(t.numel() for t in tensors):
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the "
            "operation does not have an identity"
        )
    return tuple([functions.linalg.vector_norm(t, ord, dtype=dtype) for t in tensors])


def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """Return the sum of the sizes of each tensor's elements to the power ``ord``."""
    return tuple(
        [
            functions.sum(functions.pow(functions.abs(t), ord), dtype=dtype)
            for t in _tensors("_foreach_powsum", self)
        ]
    )


def _foreach_max(self: Any) -> tuple[Tensor, ...]:
    """Return the greatest element of each tensor."""
    return tuple([functions.max(t) for t in _tensors("_foreach_max", self)])


def _foreach_mm(self: Any, mat2: Any) -> tuple[Tensor, ...]:
    """Return the matrix product of each tensor with its partner."""
    tensors = _tensors("_foreach_mm", self)
    others = _rows("_foreach_mm", len(tensors), _tensors("_foreach_mm", mat2, 1))
    return tuple([functions.mm(a, b) for a, b in zip(tensors, others, strict=True)])


def _register() -> None:
    kinds = [(n, _unary) for n in names_with("foreach")] + [(n, _binary) for n in _BINARY]
    kinds += [("addcmul", _pointwise), ("addcdiv", _pointwise), ("lerp", _lerp)]
    for name, make in kinds:
        for suffix in ("", "_"):
            function = make(name, bool(suffix))
            function.__name__ = function.__qualname__ = f"_foreach_{name}{suffix}"
            function.__doc__ = f"``{name}{suffix}`` on each tensor of a list."
            export(function, function.__name__, ("",))
    for function in (
        _foreach_zero_,
        _foreach_copy_,
        _foreach_clone,
        _foreach_norm,
        _foreach_powsum,
        _foreach_max,
        _foreach_mm,
    ):
        export(function, function.__name__, ("",))


_register()
