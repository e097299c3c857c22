"""A case of the op table by NumPy, compiled, and by NumPy from a trace of other sizes."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from op_harness import Case, Recipe, as_numpy, gradients, make, raised, resolve, tensors_in

import torchlike
from torchlike._runtime.first_calls.statistics import records
from torchlike.compiler import set_first_calls

#: How far by NumPy may be from compiled, in eps of the output's greatest number; and why.
EPS = 8
_CANCELS = "the terms of a sum cancel, and are summed in another order"
_THREE_SUMS = "the gradient of the input is what is left of three sums"
LOOSER = {
    "sum": (32, _CANCELS),
    "masked_fill": (32, _CANCELS),
    "fill": (32, _CANCELS),
    "meshgrid": (32, _CANCELS),
    "_native_batch_norm_legit": (32, _THREE_SUMS),
    "native_batch_norm": (32, _THREE_SUMS),
    "ops.aten._batch_norm_with_update": (32, _THREE_SUMS),
    "ormqr": (16, "a product of products"),
    "special.chebyshev_polynomial_t": (32, "the cosine of a multiple of an angle"),
}

_SLICE = "a slice of unknown size has a gradient added to zeros: no -0.0"
#: Not run from other sizes, and why.
NOT_SPECIALISED = {
    "fft.irfft": _SLICE,
    "fft.irfftn": _SLICE,
}


def larger(case: Case, by: int) -> Case:
    """The case with each size of 2 or more (but of given values) larger by a number."""

    def grown(value: Any) -> Any:
        if isinstance(value, Recipe) and value.values is None:
            shape = tuple(n + by if n > 1 else n for n in value.shape)
            return dataclasses.replace(value, shape=shape)
        if isinstance(value, (list, tuple)):
            return type(value)(map(grown, value))
        return value

    kwargs = {name: grown(value) for name, value in case.kwargs.items()}
    return dataclasses.replace(case, args=tuple(map(grown, case.args)), kwargs=kwargs)


def results(case: Case) -> list[Any]:
    """Values and gradients, as NumPy arrays."""
    function = resolve(torchlike, case.name)
    side = make(case, torchlike, False)
    found = [as_numpy(t) for t in tensors_in(function(*side.args, **side.kwargs))]
    if "grad" in case.skip:
        return found
    side = make(case, torchlike, True)
    first, _ = gradients(side, function, False) if side.inputs else (None, None)
    return [*found, *(as_numpy(t) for t in first or () if t is not None)]


def by_numpy(case: Case) -> list[Any]:
    """Where floating-point errors of NumPy would reach the user, they are raised."""
    with set_first_calls("numpy"), np.errstate(all="raise"):
        return results(case)


def compiled(case: Case) -> list[Any]:
    with set_first_calls("compiled"):
        return results(case)


def specialised() -> int:
    return sum(record.specialised for record in records.values())


def from_other_sizes(case: Case) -> tuple[list[Any] | None, int]:
    """(results after those of two other sizes, programs made of theirs); None where the op has no
    other sizes."""
    try:
        for by in (7, 11):
            by_numpy(larger(case, by))
    except AssertionError:
        raise
    except Exception:
        return None, 0  # sizes in its other arguments fit no others
    before = specialised()
    return by_numpy(larger(case, 4)), specialised() - before


def agree(found: list[Any], expected: list[Any], case: Case, what: str) -> None:
    assert len(found) == len(expected), what
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        where = f"{case} {what}[{i}]"
        assert (a.shape, a.dtype) == (b.shape, b.dtype), where
        if a.dtype.kind not in "fc":
            np.testing.assert_array_equal(a, b, where)
            continue
        if a.dtype.kind == "c":
            a, b = np.stack([a.real, a.imag]), np.stack([b.real, b.imag])
        finite = np.isfinite(b)
        np.testing.assert_array_equal(np.where(finite, 0, a), np.where(finite, 0, b), where)
        largest = float(np.abs(b[finite]).max(initial=0))
        eps = LOOSER.get(case.name, (EPS,))[0] * float(jnp.finfo(b.dtype).eps)
        difference = float(np.abs(a[finite] - b[finite]).max(initial=0))
        tiny = float(jnp.finfo(b.dtype).tiny)  # XLA takes denormals for zero
        assert difference <= eps * largest + tiny, f"{where}: off by {difference} of {largest}"


def check(case: Case) -> int:
    """Raise where the ways differ; the number of programs that were made from others."""
    agree(by_numpy(case), compiled(case), case, "by NumPy")
    if case.name in NOT_SPECIALISED:
        return 0
    found, made = from_other_sizes(case)
    if found is not None:
        agree(found, compiled(larger(case, 4)), case, "of other sizes")
    return made


def errors(case: Case, sound: list[Case]) -> dict[str, tuple[type, str]]:
    """What each way raises: of other sizes is after sound calls of the op."""

    def raises() -> tuple[type, str]:
        error, result = raised(torchlike, make(case, torchlike, False), case.name)
        assert error is not None, result
        return type(error), str(error)

    found = {}
    with set_first_calls("compiled"):
        found["compiled"] = raises()
    with set_first_calls("numpy"), np.errstate(all="raise"):
        found["numpy"] = raises()
        for other in sound:
            try:
                from_other_sizes(other)
            except Exception:
                continue
        found["specialised"] = raises()
    return found
