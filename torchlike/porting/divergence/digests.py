"""A few numbers that stand for a tensor's values, and how far two of them are apart.

NumPy only: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

#: What a digest is made of: numbers, fit for JSON.
Digest = dict[str, Any]

#: Random directions onto which values are projected, and how many values one block of them has.
_DIRECTIONS = 4
_BLOCK = 4096

#: Containers within containers that are looked into.
_DEEPEST = 8


def digest(values: np.ndarray) -> Digest:
    """Return the norm, the mean of the absolute values, and projections, in float64; NaN and inf
    apart.

    The projections of two arrays tell the norm of their difference, so that arrays of one norm are
    told apart, and an order of elements from another.
    """
    if values.dtype.kind == "c":
        values = np.stack([np.real(values), np.imag(values)])
    flat = np.array(values, dtype=np.float64).reshape(-1)
    finite = np.isfinite(flat)
    special = [int(np.isnan(flat).sum()), int((flat == np.inf).sum()), int((flat == -np.inf).sum())]
    if not finite.all():
        flat = np.where(finite, flat, 0.0)
    return {
        "norm": float(np.linalg.norm(flat)),
        "mean": float(np.abs(flat).mean()) if flat.size else 0.0,
        "projections": _project(flat).tolist(),
        "special": special,
    }


def _project(flat: np.ndarray) -> np.ndarray:
    blocks = -(-flat.size // _BLOCK)
    padded = np.zeros(blocks * _BLOCK)
    padded[: flat.size] = flat
    within = padded.reshape(blocks, _BLOCK) @ _directions(_BLOCK)
    return (within * _directions(blocks)).sum(0)


@functools.lru_cache(maxsize=64)
def _directions(rows: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, _DIRECTIONS))


def digests(value: Any, tensor: type, array: Callable[[Any], Any]) -> list[Digest]:
    """Return a digest of each tensor in ``value``, and of each plain Python value, in order.

    Args:
        value: anything; tuples, lists, mappings and dataclasses are looked into.
        tensor: the class of tensors.
        array: a tensor's values; None where it has none, as within a transformation.
    """
    found: list[Digest] = []
    _gather(value, tensor, array, found, 0)
    return found


def _gather(
    value: Any,
    tensor: type,
    array: Callable[[Any], Any],
    found: list[Digest],
    depth: int,
) -> None:
    if isinstance(value, tensor):
        found.append(of_tensor(value, array))
    elif value is None or isinstance(value, (bool, int, float, complex, str)):
        found.append({"value": repr(value)})
    elif depth == _DEEPEST:
        return
    elif isinstance(value, (tuple, list)):
        for part in value:
            _gather(part, tensor, array, found, depth + 1)
    elif isinstance(value, Mapping):
        for part in value.values():
            _gather(part, tensor, array, found, depth + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _gather(getattr(value, field.name, None), tensor, array, found, depth + 1)


def of_tensor(value: Any, array: Callable[[Any], Any]) -> Digest:
    """Return the digest of one tensor: its shape, its dtype, and what stands for its values.

    ``array`` gives its values, None, or (as a dictionary) what stands for them already.
    """
    made: Digest = {"shape": list(value.shape), "dtype": str(value.dtype)}
    values = array(value)
    if values is None:
        return made
    return {**made, **(values if isinstance(values, dict) else digest(values))}


def apart(a: Digest, b: Digest, floor: float = 0.0) -> float:
    """Return how far values are apart, relative to the larger norm, or to ``floor`` where that is
    more.

    ``inf`` where shapes, dtypes, plain values or the places of NaN and infinities differ.
    """
    for name in ("value", "shape", "dtype", "special"):
        if a.get(name) != b.get(name):
            return math.inf
    if "norm" not in a or "norm" not in b:
        return 0.0 if ("norm" in a) == ("norm" in b) else math.inf
    scale = max(a["norm"], b["norm"], floor)
    if scale == 0.0:
        return 0.0
    squares = [(p - q) ** 2 for p, q in zip(a["projections"], b["projections"], strict=True)]
    return max(abs(a["norm"] - b["norm"]), math.sqrt(sum(squares) / len(squares))) / scale


def all_apart(a: list[Digest], b: list[Digest], floor: float = 0.0) -> float:
    """Return the largest of ``apart`` over two lists; ``inf`` where one has more."""
    if len(a) != len(b):
        return math.inf
    return max((apart(x, y, floor) for x, y in zip(a, b, strict=True)), default=0.0)


def norm(many: list[Digest]) -> float:
    """Return the largest norm."""
    return max((one.get("norm", 0.0) for one in many), default=0.0)


def describe(a: list[Digest], b: list[Digest]) -> str:
    """Describe in words what differs between two lists: the first pair that is furthest apart."""
    if len(a) != len(b):
        return f"{len(a)} and {len(b)} values"
    pair = max(zip(a, b, strict=True), key=lambda two: apart(*two), default=None)
    if pair is None:
        return "nothing"
    x, y = pair
    for name in ("value", "shape", "dtype"):
        if x.get(name) != y.get(name):
            return f"{name} {_shown(x.get(name))} and {_shown(y.get(name))}"
    if x.get("special") != y.get("special"):
        return f"NaN, inf, -inf: {x.get('special')} and {y.get('special')} elements"
    if "norm" not in x:
        return "values that cannot be read"
    return f"{apart(x, y):.1e} apart, norms {x['norm']:.6g} and {y['norm']:.6g}"


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
