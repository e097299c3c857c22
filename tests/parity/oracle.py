"""Real PyTorch as the oracle: one function of the module, run by both, its results held together.

``compare(lambda t: t.ones(2) / 0)`` runs the function with PyTorch and with torchlike (also jitted,
if asked) and asserts that the results, or the errors, are the same. ``same`` is what that means:
types, dtypes, shapes and values, these within `TOLERANCES`.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import torchlike

LIBRARIES = (torch, torchlike)


@dataclass(frozen=True)
class Tolerance:
    """How far a value may be from PyTorch's: ``atol + rtol * abs(PyTorch's)``, and why."""

    rtol: float
    atol: float
    reason: str


_TERMS = "a few roundings: sums and products take their terms in another order"
_BITS = "one rounding to 16 bits"
#: By dtype.
TOLERANCES = {
    "float64": Tolerance(1e-9, 1e-9, _TERMS),
    "complex128": Tolerance(1e-9, 1e-9, _TERMS),
    "float32": Tolerance(1e-5, 2e-6, _TERMS),
    "complex64": Tolerance(1e-5, 2e-6, _TERMS),
    "float16": Tolerance(1e-3, 1e-3, _BITS),
    "bfloat16": Tolerance(1.6e-2, 1e-2, _BITS),
}
#: Of every other dtype.
EQUAL = Tolerance(0, 0, "integers and bools have no roundings")


@dataclass(frozen=True)
class Raised:
    """The error in which a run ended."""

    type: str
    words: str


@dataclass(frozen=True)
class Warned:
    """What a run gave, and what it warned of on the way."""

    result: Any
    warnings: list[tuple[str, str]]


def outcome(
    function: Callable[[Any], Any], library: Any, *, jitted: bool = False, warned: int = 0
) -> Any:
    """What the function gives for the library, from the seed 0, or its error; with the first so
    many characters of its warnings, if asked."""
    run = torchlike.jit(lambda: function(library)) if jitted else lambda: function(library)
    library.manual_seed(0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = run()
        except Exception as error:
            words = str(error).replace("torchlike", "torch")
            # PyTorch's stack in C++, and the line there that found the error.
            words = words.partition("\nException raised from")[0]
            words = re.sub(r"^\[enforce fail at \S+\] \. ", "", words)
            result = Raised(type(error).__name__.lstrip("_"), words)
    if not warned:
        return result
    said = [(w.category.__name__, str(w.message).replace("torchlike", "torch")) for w in heard]
    return Warned(result, [(c, s.partition(" (Triggered")[0][:warned]) for c, s in said])


def compare(
    function: Callable[[Any], Any],
    *,
    jitted: bool | Iterable[bool] = False,
    words: int | None = None,
    warned: int = 0,
    rtol: float | None = None,
    atol: float | None = None,
    exact: bool = False,
) -> Any:
    """AssertionError unless torchlike gives what PyTorch gives; PyTorch's outcome.

    Args:
        function: takes the library.
        jitted: whether torchlike's run is compiled, or several such answers.
        words: how many characters of an error's words are compared; None for all. With 0, both
            have some.
        warned: how many characters of each warning are compared; with 0, none are heard.
        rtol, atol: in place of the dtypes' own, beside a comment that says why.
        exact: tensors are equal to the last bit, in their strides and ``requires_grad`` too.
    """
    expected = outcome(function, torch, warned=warned)
    for compiled in (jitted,) if isinstance(jitted, bool) else jitted:
        found = outcome(function, torchlike, jitted=compiled, warned=warned)
        where = "jitted" if compiled else "eager"
        ours, theirs = found, expected
        if isinstance(theirs, Warned):
            assert ours.warnings == theirs.warnings, f"{where}: {ours}, not {theirs}"
            ours, theirs = ours.result, theirs.result
        if isinstance(ours, Raised) and isinstance(theirs, Raised):
            assert ours.type == theirs.type, f"{where}: {ours}, not {theirs}"
            assert ours.words[:words] == theirs.words[:words], f"{where}: {ours}, not {theirs}"
            assert bool(ours.words) == bool(theirs.words), f"{where}: {ours}, not {theirs}"
        else:
            same(ours, theirs, where, rtol=rtol, atol=atol, exact=exact)
    return expected


def refused(function: Callable[[Any], Any], **how: Any) -> Raised:
    """``compare`` of what PyTorch refuses: its error."""
    expected = compare(function, **how)
    assert isinstance(expected, Raised), f"PyTorch gives {expected!r}"
    return expected


def same(
    ours: Any,
    theirs: Any,
    where: str = "result",
    *,
    rtol: float | None = None,
    atol: float | None = None,
    exact: bool = False,
) -> None:
    """AssertionError unless both agree in type, structure, dtype, shape and values, and if exact,
    in strides and flags."""
    limits: dict[str, Any] = {"rtol": 0 if exact else rtol, "atol": 0 if exact else atol}
    inside: dict[str, Any] = {"rtol": rtol, "atol": atol, "exact": exact}

    def unlike() -> str:  # made when it is needed: a tensor's text takes longer than its sum
        return f"{where}: {ours!r}, not {theirs!r}"

    if isinstance(theirs, (torch.Tensor, torchlike.Tensor)):
        assert isinstance(ours, torchlike.Tensor), unlike()
        assert str(ours.dtype) == str(theirs.dtype), f"{where}: {ours.dtype}, not {theirs.dtype}"
        assert tuple(ours.shape) == tuple(theirs.shape), f"{where}: {ours.shape}, {theirs.shape}"
        if exact:
            assert ours.stride() == theirs.stride(), f"{where}: {ours.stride()}, {theirs.stride()}"
            assert ours.requires_grad == theirs.requires_grad, unlike()
        a, b = as_numpy(ours), as_numpy(theirs)
        close(a, b, str(theirs.dtype)[6:], where, **limits)
        if exact and b.dtype.kind == "f":
            zeros = b == 0
            np.testing.assert_array_equal(np.signbit(a[zeros]), np.signbit(b[zeros]), where)
    elif isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), unlike()
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), unlike()
        if exact:
            assert ours.strides == theirs.strides, unlike()
            assert ours.flags.writeable == theirs.flags.writeable, unlike()
        close(ours, theirs, str(theirs.dtype), where, **limits)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), f"{where}: keys {list(ours)}, not {list(theirs)}"
        for key in theirs:
            same(ours[key], theirs[key], f"{where}[{key!r}]", **inside)
    elif isinstance(theirs, (list, tuple)):
        assert type(ours).__name__ == type(theirs).__name__, unlike()
        assert len(ours) == len(theirs), unlike()
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            same(a, b, f"{where}[{i}]", **inside)
    elif isinstance(theirs, (float, complex)):
        assert type(ours) is type(theirs), unlike()
        close(np.array(ours), np.array(theirs), "float32", where, **limits)
    elif isinstance(theirs, Raised):
        assert ours == theirs, unlike()
    else:
        assert type(ours).__name__ == type(theirs).__name__, unlike()
        assert repr(ours).replace("torchlike", "torch") == repr(theirs), unlike()


def close(
    ours: np.ndarray,
    theirs: np.ndarray,
    dtype: str,
    where: str = "result",
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """AssertionError unless the values are within the dtype's tolerance, or the one given."""
    usual = TOLERANCES.get(dtype, EQUAL)
    if usual is EQUAL:
        np.testing.assert_array_equal(ours, theirs, err_msg=where)
        return
    np.testing.assert_allclose(
        ours,
        theirs,
        rtol=usual.rtol if rtol is None else rtol,
        atol=usual.atol if atol is None else atol,
        err_msg=where,
    )


def as_numpy(t: Any) -> np.ndarray:
    """A tensor of either library, wherever it is; bfloat16 as float32, sparse ones dense."""
    t = t.detach().cpu()
    if t.layout not in (torch.strided, torchlike.strided):
        t = t.to_dense()
    if str(t.dtype) == "torch.bfloat16":
        t = t.float()
    return np.array(t.resolve_conj().resolve_neg().numpy())


def with_gradients(
    function: Callable[..., Any],
    *values: Any,
    dtype: str | Sequence[str] | None = None,
    grad: bool = True,
    jitted: bool = False,
) -> Callable[[Any], tuple[Any, ...]]:
    """A function for ``compare``: what ``function(library, *tensors)`` gives for tensors of the
    values, of one dtype or one each, then (with ``grad``) the gradients of those that can have
    one. The cotangents differ from element to element."""

    def run(library: Any) -> tuple[Any, ...]:
        names = [dtype] * len(values) if dtype is None or isinstance(dtype, str) else dtype
        kinds = [None if name is None else getattr(library, name) for name in names]
        tensors = [library.tensor(v, dtype=k) for v, k in zip(values, kinds, strict=True)]
        leaves = [t for t in tensors if grad and (t.is_floating_point() or t.is_complex())]
        for leaf in leaves:
            leaf.requires_grad_()
        called = library.jit if jitted and library is torchlike else lambda f: f
        found = called(lambda *xs: function(library, *xs))(*tensors)
        found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if not leaves:
            return found
        total: Any = 0
        for y in found:
            for part in (y.real, y.imag) if y.is_complex() else (y,):
                if part.requires_grad:
                    weights = np.linspace(0.4, 1.6, math.prod(part.shape)).reshape(part.shape)
                    total = total + (part * library.tensor(weights).to(part.dtype)).sum()
        return (*found, *library.autograd.grad(total, leaves, allow_unused=True))

    return run


def source(line: str) -> Callable[[Any], Any]:
    """A line of Python on ``t``, the library, as a function: the last of its statements, after a
    semicolon, is what it gives."""
    *before, last = line.split("; ")

    def function(t: Any) -> Any:
        names = {"t": t, "np": np}
        for statement in before:
            exec(statement, names)
        return eval(last, names)

    return function
