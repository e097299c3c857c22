"""Shapes: broadcasting, reshaping, slicing, padding, joining."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._runtime.first_calls.rules.registry import Equation, Method, NoNumpyRule, rule


def beside_ones(eqn: Equation) -> tuple[int, ...]:
    """Return the sizes of the operand of ``broadcast_in_dim`` at their places in the result, 1
    elsewhere."""
    sizes = [1] * len(eqn.shape)
    for d, place in enumerate(eqn.params["broadcast_dimensions"]):
        sizes[place] = eqn.operands[0].shape[d]
    return tuple(sizes)


@rule("broadcast_in_dim")
def _broadcast_in_dim(eqn: Equation) -> Callable[..., Any]:
    if len(eqn.operands) > 1:
        raise NoNumpyRule("broadcast_in_dim with sizes that are values")
    shape, sizes = eqn.shape, beside_ones(eqn)
    if sizes == shape:
        return Method("reshape", shape)
    if sizes == eqn.operands[0].shape:
        return lambda x: np.broadcast_to(x, shape)
    return lambda x: np.broadcast_to(x.reshape(sizes), shape)


@rule("reshape", "squeeze", "expand_dims")
def _reshape(eqn: Equation) -> Callable[..., Any]:
    shape = eqn.shape
    # A reshape's: the order in which the elements are taken. A squeeze's: what is left out.
    order = eqn.params.get("dimensions") if "new_sizes" in eqn.params else None
    if order is not None:
        return lambda x: x.transpose(order).reshape(shape)
    return Method("reshape", shape)


@rule("transpose")
def _transpose(eqn: Equation) -> Callable[..., Any]:
    return Method("transpose", eqn.params["permutation"])


@rule("slice")
def _slice(eqn: Equation) -> Callable[..., Any]:
    starts, limits = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or (1,) * len(starts)
    at = tuple(slice(*ends) for ends in zip(starts, limits, strides, strict=True))
    return lambda x: x[at]


@rule("rev")
def _rev(eqn: Equation) -> Callable[..., Any]:
    flipped = eqn.params["dimensions"]
    at = tuple(slice(None, None, -1 if d in flipped else 1) for d in range(len(eqn.shape)))
    return lambda x: x[at]


@rule("pad")
def _pad(eqn: Equation) -> Callable[..., Any]:
    shape, dtype = eqn.shape, eqn.dtype
    placed = [
        padded_places(size, width, interior + 1, low)
        for size, width, (low, _, interior) in zip(
            eqn.operands[0].shape, shape, eqn.params["padding_config"], strict=True
        )
    ]
    source, target = (tuple(places) for places in zip(*placed, strict=True)) if placed else ((), ())

    def padded(x: Any, value: Any) -> np.ndarray:
        out = np.empty(shape, dtype)
        out[...] = value
        out[target] = x[source]
        return out

    return padded


def padded_places(size: int, width: int, step: int, low: int) -> tuple[slice, slice]:
    """Return which elements of a dimension of ``size`` lie in the padded one of ``width``, and
    where.

    They are ``step`` apart there, the first at ``low``, which may be outside.
    """
    first = 0 if low >= 0 else -(low // step)
    begin = low + first * step
    count = 0
    if begin < width and size > first:
        count = min(size - first, -((begin - width) // step))
    end = begin + (count - 1) * step + 1 if count else begin
    return slice(first, first + count), slice(begin, end, step)


@rule("concatenate")
def _concatenate(eqn: Equation) -> Callable[..., Any]:
    dim = eqn.params["dimension"]
    return lambda *parts: np.concatenate(parts, dim)


@rule("stack")
def _stack(eqn: Equation) -> Callable[..., Any]:
    dim = eqn.params["axis"]
    return lambda *parts: np.stack(parts, dim)


@rule("split")
def _split(eqn: Equation) -> Callable[..., Any]:
    places, dim = [int(n) for n in np.cumsum(eqn.params["sizes"])[:-1]], eqn.params["axis"]
    return lambda x: np.split(x, places, dim)


@rule("unstack")
def _unstack(eqn: Equation) -> Callable[..., Any]:
    dim = eqn.params["axis"]
    return lambda x: list(np.moveaxis(x, dim, 0))


@rule("tile")
def _tile(eqn: Equation) -> Callable[..., Any]:
    repeats, shape = tuple(eqn.params["reps"]), eqn.shape
    return lambda x: np.tile(x, repeats).reshape(shape)


@rule("iota")
def _iota(eqn: Equation) -> Callable[..., Any]:
    if eqn.operands:
        raise NoNumpyRule("iota with sizes that are values")
    dim, shape, dtype = eqn.params["dimension"], eqn.shape, eqn.dtype
    sizes = tuple(n if d == dim else 1 for d, n in enumerate(shape))
    values = np.broadcast_to(np.arange(shape[dim]).astype(dtype).reshape(sizes), shape)
    return lambda: values


@rule("empty2")
def _empty2(eqn: Equation) -> Callable[..., Any]:
    value = np.zeros((), eqn.dtype)
    return lambda: value


@rule("device_put")
def _device_put(eqn: Equation) -> Callable[..., Any]:
    if any(device is not None for device in eqn.params["devices"]):
        raise NoNumpyRule("device_put to a device")
    return lambda *values: list(values)


@rule("dim_as_value")
def _dim_as_value(eqn: Equation) -> Callable[..., Any]:
    value = np.asarray(eqn.params["dim"], eqn.dtype)
    return lambda: value
