"""Sets and counts of values: unique, unique_consecutive, bincount, isin.

The size of most results depends on values, so they are computed on the host: nothing is compiled
for each size, and none of them has a derivative.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.copying import array_to_device_of
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Operand, require_tensor
from torchlike._core.storage import device_array
from torchlike._core.views.geometry import contiguous_strides
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.promotion import is_number, result_dtype
from torchlike._ops.underived import underived
from torchlike._runtime import x64
from torchlike.tensor import Tensor, wrap


def _on_host(t: Tensor, name: str) -> np.ndarray:
    values = t._value(f"{name}() (its size depends on values)", "a fixed number of slots")
    # ml_dtypes' types (bfloat16) have no order in NumPy; float32 holds their values exactly.
    return values.astype(np.float32) if values.dtype.kind == "V" else values


def _back(values: np.ndarray, like: Tensor, dtype: dtypes.dtype = dtypes.int64) -> Tensor:
    x64.require()
    return wrap(array_to_device_of(device_array(values.astype(dtype.numpy)), like))


def _along(values: Tensor, d: int) -> Tensor:
    """Place the slices along ``d`` one after another in memory, and return the tensor."""
    size = values._geometry.size
    if d and values.numel():
        inner = contiguous_strides((*size[:d], *size[d + 1 :]))
        values._storage.strides = (*inner[:d], values.numel() // size[d], *inner[d:])
    return values


def _results(values: Tensor, inverse: Any, counts: Any, wanted: tuple[Any, Any]) -> Any:
    found = [values]
    if wanted[0]:
        found.append(_back(inverse, values))
    if wanted[1]:
        found.append(_back(counts, values))
    return tuple(found) if len(found) > 1 else values


@composite(python_signature=True)
def unique(
    input: Tensor,
    sorted: Any = True,
    return_inverse: Any = False,
    return_counts: Any = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct elements (or slices along ``dim``), in order.

    With ``return_inverse`` also where each element of the input went, with ``return_counts`` how
    often each occurs. Every NaN is distinct.
    """
    require_tensor(input, "unique")
    values = _on_host(input, "unique")
    if dim is None:
        found, inverse, counts = np.unique(
            values, return_inverse=True, return_counts=True, equal_nan=False
        )
        inverse = inverse.reshape(values.shape)
    else:
        d = errors.wrap_dim(dim, input.dim())
        _check_slices(input, d)
        found, inverse, counts = np.unique(
            values, return_inverse=True, return_counts=True, axis=d, equal_nan=False
        )
        inverse = inverse.reshape(-1)
    distinct = _back(found, input, input.dtype)
    if dim is None:
        distinct = underived(distinct, "_unique2", input)
    else:
        distinct = _along(underived(distinct, "unique_dim", input), d)
    return _results(distinct, inverse, counts, (return_inverse, return_counts))


def _check_slices(input: Tensor, d: int) -> None:
    if not input.dim():
        raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
    if tuple(input.shape).count(0) > 1:
        raise RuntimeError(
            "Number of zero sized dimensions is more than one, so unique cannot be applied "
        )
    if input.numel() == 0 and input.shape[d] != 0:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )


@composite(python_signature=True, tags="dynamic_output_shape")
def unique_consecutive(
    input: Tensor, return_inverse: Any = False, return_counts: Any = False, dim: int | None = None
) -> Any:
    """Return the first of every run of equal elements (or slices along ``dim``)."""
    require_tensor(input, "unique_consecutive")
    values = _on_host(input, "unique_consecutive")
    d = 0 if dim is None else errors.wrap_dim(dim, input.dim())
    if dim is not None:
        _check_slices(input, d)
    rows = values.reshape(-1) if dim is None else np.moveaxis(values, d, 0)
    n = len(rows)
    changed = rows[1:] != rows[:-1]
    if changed.ndim > 1:
        changed = changed.any(axis=tuple(range(1, changed.ndim)))
    starts = np.flatnonzero(np.concatenate([np.ones(min(n, 1), bool), changed]))
    inverse = np.zeros(n, np.int64)
    inverse[starts] = 1
    inverse = np.cumsum(inverse) - 1
    counts = np.diff(np.append(starts, n))
    kept = rows[starts]
    if dim is None:
        inverse = inverse.reshape(values.shape)
    else:
        kept = np.moveaxis(kept, 0, d)
    firsts = underived(_back(kept, input, input.dtype), "unique_consecutive", input)
    return _results(_along(firsts, d), inverse, counts, (return_inverse, return_counts))


@composite(tags="dynamic_output_shape")
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Return how often each value of a vector of non-negative integers occurs (or its summed
    weights)."""
    require_tensor(input, "bincount")
    if input.dtype.category != 1:
        raise NotImplementedError(
            f"\"bincount_cpu\" not implemented for '{dtypes.scalar_type(input.dtype)}'"
        )
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    values = _on_host(input, "bincount")
    if values.ndim != 1 or (values < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return _back(np.bincount(values, minlength=minlength), input)
    if weights.dim() != 1 or weights.numel() != input.numel():
        raise RuntimeError("weights should be 1-d and have the same length as input")
    total = np.bincount(values, _on_host(weights, "bincount"), minlength)
    kind = dtypes.float32 if weights.dtype is dtypes.float32 else dtypes.float64
    summed = _back(total, input, kind)
    return underived(summed, "aten::bincount", weights)


@op("isin_op", namespaces=(), method=False, differentiable=False)
def isin_op(elements: Operand, test_elements: Operand, invert: Bool):
    """Return whether each element is among others."""
    for x in (elements, test_elements):
        if not is_number(x) and x.dtype.kind in "cb":
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {scalar_type_of(x)}"
            )
    dtype = result_dtype(elements, test_elements).numpy
    x, among = (jnp.asarray(v).astype(dtype) for v in (elements, test_elements))
    return jnp.isin(x, among, invert=invert)


@composite(
    method=False,
    other_names={"element": "elements", "test_element": "test_elements"},
    pointwise=True,
)
def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: Any = False,
    invert: Any = False,
    out: Any = None,
) -> Tensor:
    """Return whether each element is among ``test_elements`` (with ``invert``: is not)."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError(
            "isin() received an invalid combination of arguments - got "
            f"({type(elements).__name__}, {type(test_elements).__name__}): one of them must be a "
            "Tensor"
        )
    return isin_op(elements, test_elements, invert, out=out)
