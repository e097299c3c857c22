"""What a call did: its result or error, gradients, arguments and state after it, random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._ops.creation.from_data import as_tensor
from torchlike.autograd.backward import grad
from torchlike.tensor import Tensor
from torchlike.testing.comparison import TOLERANCES, assert_close
from torchlike.testing.trees import named_arguments, named_leaves

#: Of float32 eager and compiled code may differ by a few roundings: XLA adds in another order.
_LOOSER = {"float32": (1e-5, 1e-5), "complex64": (1e-5, 1e-5)}
#: So much larger is the absolute tolerance of a gradient: its terms may cancel, as behind a batch
#: norm, and what is left is the roundings of terms far larger than itself.
_CANCELLING = 10


def weights(shape: tuple[int, ...]) -> np.ndarray:
    """Return cotangents that differ from element to element, so that a wrong place shows."""
    return np.linspace(0.4, 1.6, math.prod(shape)).reshape(shape)


def total(outputs: list[Tensor]) -> Tensor | None:
    """Return the weighted sum of all that has a gradient; None where nothing has."""
    found: Any = None
    for y in outputs:
        for part in (y.real, y.imag) if y.is_complex() else (y,):
            if part.requires_grad:
                term = (part * as_tensor(weights(tuple(part.shape)), dtype=part.dtype)).sum()
                found = term if found is None else found + term
    return found


def observe(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    others: dict[str, Tensor] | None = None,
) -> dict[str, Any]:
    """Call a function, and return everything that the call gives and changes, by name.

    Gradients are those of a weighted sum of the result's tensors, by the arguments and by
    ``others`` that require grad. An error of the call is an entry like another: its type.
    """
    given = named_arguments(args, kwargs)
    wanted = {
        n: t
        for n, t in {**given, **(others or {})}.items()
        if isinstance(t, Tensor) and t.requires_grad and t.is_leaf
    }
    try:
        found = named_leaves(fn(*args, **kwargs), "the result")
        loss = total([t for t in found.values() if isinstance(t, Tensor)])
        gradients: Any = ()
        if loss is not None and wanted:
            gradients = grad(loss, list(wanted.values()), allow_unused=True)
    except Exception as error:
        return {"error": error}
    found.update({f"the gradient of {n}": g for n, g in zip(wanted, gradients, strict=False)})
    for name, leaf in named_arguments(args, kwargs).items():
        found[f"{name} after the call"] = leaf
        if isinstance(leaf, Tensor) and leaf.is_leaf:
            found[f"{name}.grad after the call"] = leaf.grad
    return {n: x.detach().clone() if isinstance(x, Tensor) else x for n, x in found.items()}


def assert_same(
    found: dict[str, Any],
    expected: dict[str, Any],
    who: str,
    *,
    rtol: float | None,
    atol: float | None,
    whom: str = "eager",
) -> None:
    """Raise AssertionError, which names the first entry in which two observations differ, unless
    they are the same.

    ``who`` says whose the first is ("jit", "vmap"), ``whom`` whose the second.
    """
    if "error" in found or "error" in expected:
        _same_error(found.get("error"), expected.get("error"), who, whom)
        return
    if list(found) != list(expected):
        raise AssertionError(
            f"{who} gives another structure: {list(found)}, where {whom} gives {list(expected)}"
        )
    for name, value in expected.items():
        where = f"{who} differs from {whom} in {name}"
        is_gradient = name.startswith("the gradient") or ".grad after" in name
        _same(found[name], value, where, rtol, atol, is_gradient)


def _same(
    found: Any,
    expected: Any,
    where: str,
    rtol: float | None,
    atol: float | None,
    is_gradient: bool,
) -> None:
    if not isinstance(expected, Tensor) or not isinstance(found, Tensor):
        nans = found != found and expected != expected
        if type(found) is not type(expected) or not (nans or found == expected):
            raise AssertionError(f"{where}: {found!r}, not {expected!r}")
        return
    if rtol is None and atol is None:
        usual = {**TOLERANCES, **_LOOSER}
        rtol, atol = usual.get(expected.dtype.name, (0.0, 0.0))
        atol *= _CANCELLING if is_gradient else 1
    assert_close(
        found,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=True,
        check_device=False,
        msg=lambda text: f"{where}: {text}",
    )


def _same_error(found: Exception | None, expected: Exception | None, who: str, whom: str) -> None:
    if found is None:
        raise AssertionError(
            f"{who} gives a result where {whom} raises {type(expected).__name__}: {expected}"
        ) from expected
    if expected is None or type(found) is not type(expected):
        other = "gives a result" if expected is None else f"raises {expected!r}"
        raise AssertionError(
            f"{who} raises {type(found).__name__} where {whom} {other}: {found}"
        ) from found
