"""Judges the operation by which two runs differ: it is run again in float64, on what each run gave
to it.

One implementation, torchlike's in this process, is run for both. Where it differs between the runs
as the runs do, the difference was there before, and the operation has no part in it: rounding that
it makes larger, or that stands out in a small part of its result, or a kink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import torchlike
from torchlike.porting.divergence.values import array_of

#: An operation's own errors are below this part of a difference that was there before it.
_PART = 0.25
#: Units of rounding that one operation may be away from its float64 run.
_ROUNDINGS = 4

#: Functions whose gradient jumps, by the last part of their names.
_KINKED_TEXT = """
relu relu_ relu6 leaky_relu hardtanh threshold hardshrink softshrink hardswish hardsigmoid
clamp clamp_ clamp_min clamp_max clip abs abs_ absolute __abs__ l1_loss
max min amax amin maximum minimum fmax fmin max_pool1d max_pool2d max_pool3d
"""
_KINKED = frozenset(_KINKED_TEXT.split())

#: What a call raises that cannot be made in float64.
_REFUSED = (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError, AttributeError)


@dataclass(frozen=True)
class Verdict:
    """What the float64 runs say of an operation."""

    is_fault: bool
    says: str


def judged(
    operation: str, here: dict[str, Any], there: dict[str, Any], tolerance: float
) -> Verdict | None:
    """Judge an operation from what two ``OperationTracer`` noted of it with ``values_of``; None
    where it cannot be: it is the user's own, random, or has too many elements.

    Args:
        operation: its name, as ``torch.cat``.
        tolerance: of values, relative to a norm.
    """
    function = _resolved(operation)
    notes = [one["values"] for one in (here, there) if "values" in one]
    if function is None or len(notes) != 2 or here["arguments"] != there["arguments"]:
        return None
    try:
        a, b = (_CallInFloat64(function, note) for note in notes)
    except _REFUSED:
        return None
    if not (a.is_complete and b.is_complete and a.fits(b)):
        return None
    size = max(_norm(a.found), _norm(b.found), 1e-3 * max(a.scale, b.scale))
    apart = _norm(a.found - b.found) / size if size else 0.0
    own = [_norm(call.found - call.exact) / size if size else 0.0 for call in (a, b)]
    if not np.isfinite([apart, *own]).all():
        return None
    if max(own) <= _PART * apart:
        kink = a.kink(b, operation, tolerance)
        return Verdict(
            False,
            kink
            or f"no fault of it: in float64, given what each run gives to it, it differs as much "
            f"({apart:.1e} of all that it gives)",
        )
    distances = f"{own[0]:.1e} from here and {own[1]:.1e} from there"
    if max(own) <= _ROUNDINGS * max(a.rounding, b.rounding):
        return Verdict(False, f"rounding of {a.dtype}: its float64 run is {distances}")
    nearer = "here" if own[0] < own[1] else "there"
    return Verdict(True, f"its float64 run is {distances}: {nearer} is nearer")


class _CallInFloat64:
    """One run's call of an operation, and the same in float64: of its results, or where gradients
    are known, of those of what it is given."""

    def __init__(self, function: Callable[..., Any], note: dict[str, Any]) -> None:
        self._inputs: list[Any] = []
        takes = iter(note["takes"] or _no_gradients())
        gives = list(note["gives"])
        self._is_backward = bool(note["takes"])
        self.outputs = [array_of(one) for one in note["outputs"]]
        args, kwargs = self._taken(note["given"], takes)
        wanted = [x for x, g in self._inputs if g is not None and x.requires_grad]
        gradients = [array_of(g) for x, g in self._inputs if g is not None and x.requires_grad]
        before = torchlike.get_rng_state()
        results = _tensors(function(*args, **kwargs))
        self.is_complete = bool((torchlike.get_rng_state() == before).all())
        if self._is_backward:
            pairs = [
                (y, g) for y, g in zip(results, gives, strict=False) if g is not None and y.grad_fn
            ]
            cotangents = [torchlike.tensor(array_of(g)).to(y.dtype) for y, g in pairs]
            exact = torchlike.autograd.grad([y for y, _ in pairs], wanted, cotangents)
            given, compared = cotangents, gradients
        else:
            exact, given, compared = results, [x for x, _ in self._inputs], self.outputs
        self.shapes = [x.shape for x in compared]
        self.is_complete &= self.shapes == [tuple(x.shape) for x in exact] and bool(exact)
        self.found = _flat(compared)
        self.exact = _flat([x.detach().numpy() for x in exact])
        self.scale = max((_norm(_flat([x.detach().numpy()])) for x in given), default=0.0)
        self.values = _flat([x.detach().numpy() for x in wanted])
        noted = note["takes"] if self._is_backward else note["outputs"]
        names = [one["dtype"] for one in noted if one is not None]
        roundings = [_rounding(name) for name in names]
        self.rounding = max(roundings, default=0.0)
        self.dtype = names[int(np.argmax(roundings))] if names else ""

    def fits(self, other: _CallInFloat64) -> bool:
        """Return whether both calls give arrays of the same shapes."""
        return self.shapes == other.shapes

    def kink(self, other: _CallInFloat64, operation: str, tolerance: float) -> str | None:
        """Say that the operation is at a kink: results agree, and gradients differ only where what
        it is given lies on both sides of it."""
        if not self._is_backward or operation.rpartition(".")[2] not in _KINKED:
            return None
        results = _flat(self.outputs), _flat(other.outputs)
        largest = max(_norm(results[0]), _norm(results[1]))
        if results[0].shape != results[1].shape or (
            _norm(results[0] - results[1]) > tolerance * largest
        ):
            return None
        differences = np.abs(self.found - other.found)
        level = tolerance * max(np.abs(self.found).max(), np.abs(other.found).max())
        at = differences > level
        between = np.abs(self.values - other.values)[at].max()
        return (
            f"a kink: results agree, and gradients of {int(at.sum())} of {at.size} elements "
            f"differ, which stand on both sides of it, at most {between:.1e} apart"
        )

    def _taken(self, value: Any, takes: Iterator[Any]) -> Any:
        """Return what the operation was given, in float64."""
        match value:
            case {"tensor": data}:
                tensor = torchlike.tensor(array_of(data))
                gradient = next(takes)
                tensor.requires_grad_(gradient is not None and tensor.is_floating_point())
                self._inputs.append((tensor, gradient))
                return tensor
            case {"tuple": parts}:
                return tuple(self._taken(part, takes) for part in parts)
            case {"dict": parts}:
                return {key: self._taken(part, takes) for key, part in parts.items()}
            case {"dtype": name}:
                return getattr(torchlike, name.removeprefix("torch."))
            case {"slice": parts}:
                return slice(*parts)
            case {"unknown": kind}:
                raise TypeError(f"a {kind} cannot be given again")
            case list():
                return [self._taken(part, takes) for part in value]
            case _:
                return value


def _no_gradients() -> Iterator[None]:
    while True:
        yield None


def _resolved(name: str) -> Any:
    """Return torchlike's function of a name as ``torch.nn.functional.relu``; None without one."""
    first, *parts = name.split(".")
    found: Any = torchlike if first in ("torch", "torchlike") else None
    for part in parts:
        found = getattr(found, part, None)
    return found if parts and callable(found) else None


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, torchlike.Tensor):
        return [value]
    return [t for part in value for t in _tensors(part)] if isinstance(value, (tuple, list)) else []


def _flat(arrays: list[np.ndarray]) -> np.ndarray:
    if not arrays:
        return np.zeros(0)
    kind = np.complex128 if any(x.dtype.kind == "c" for x in arrays) else np.float64
    return np.concatenate([np.asarray(x, kind).reshape(-1) for x in arrays])


def _norm(values: np.ndarray) -> float:
    return float(np.linalg.norm(values))


def _rounding(dtype: str) -> float:
    """Return the unit of rounding of a dtype's name; 0 of integers."""
    found = getattr(torchlike, dtype.removeprefix("torch."))
    return torchlike.finfo(found).eps if found.is_floating_point or found.is_complex else 0.0
