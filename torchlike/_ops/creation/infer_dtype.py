"""Nested Python data as an array: which shape and dtype ``torch.tensor`` infers.

Lists of Python's numbers, the usual case, are NumPy's to read; what else may be in them (NumPy's
scalars and arrays, tensors, ranges) is looked at one by one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from torchlike._core import casts, dtypes, errors
from torchlike.tensor import Tensor

_LISTS = (list, tuple)
#: NumPy's. PyTorch has 128.
_MOST_DIMENSIONS = 64


def infer(data: Any, cast: np.dtype | None = None) -> np.ndarray:
    """Return nested Python data as a NumPy array with PyTorch's inferred dtype; in full precision
    when a ``cast`` follows, for float64 must not be rounded to the default dtype first."""
    # Only int64 bounds the integers, and what holds fewer.
    unbounded = cast is not None and (cast.kind not in "iu" or cast == np.uint64)
    if isinstance(data, np.ndarray):
        return data
    if isinstance(data, np.generic):
        return np.asarray(data)
    if isinstance(data, (bool, int, float, complex)):
        whole = cast is not None and isinstance(data, (float, complex))
        if unbounded and isinstance(data, int) and not -(2**63) <= data < 2**63:
            return np.asarray(data, np.uint64) if cast == np.uint64 else np.asarray(float(data))
        try:
            with np.errstate(over="ignore"):
                return np.asarray(data, None if whole else dtypes.scalar_dtype(data).numpy)
        except OverflowError:
            raise ValueError("Overflow when unpacking long long") from None
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not isinstance(data, _LISTS):
        if hasattr(data, "__array__"):
            return np.asarray(data)
        if not _is_sequence(data):
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
        data = _listed(data)
    kinds = set(map(type, data))
    if not kinds or not kinds <= casts.NUMBERS:  # else a list of numbers, the shortest way
        sizes, kinds = _sizes(data), set()
        if len(data) and type(data[0]) is np.ndarray:
            errors.warn_user_once(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please "
                "consider converting the list to a single numpy.ndarray with numpy.array() before "
                "converting to a tensor."
            )
        _collect_types(data, kinds)
        if not kinds <= casts.NUMBERS:
            return _of_mixed(data, sizes, kinds, cast)
        if 0 in sizes:
            return np.zeros(sizes, _dtype_of_types(kinds).numpy)
        _check_rectangular(data, 0)
    array = np.array(data)
    if array.dtype == object or _may_be_large_integers(array):
        array = _with_large_integers(data, cast, unbounded)
    if cast is None and array.dtype.kind in "fc":
        with np.errstate(over="ignore"):
            return array.astype(_dtype_of_types(kinds).numpy)
    return array


def _is_sequence(data: Any) -> bool:
    """Return whether PyTorch takes an object for a sequence: by what it can do, whatever its class.
    Tensors are elements, a dict is nothing."""
    return (
        not isinstance(data, (Tensor, Mapping, np.generic))
        and hasattr(data, "__len__")
        and hasattr(data, "__getitem__")
    )


def _listed(data: Any) -> Any:
    return data if isinstance(data, _LISTS) else [data[i] for i in range(len(data))]


def _sizes(data: Any) -> tuple[int, ...]:
    """Return the shape, read off the first element of each level; nothing is below an empty one."""
    sizes = []
    while _is_sequence(data):
        if isinstance(data, np.ndarray):
            if not data.ndim:
                raise TypeError("len() of unsized object")
            inner = data.shape
            return (*sizes, *(inner[: inner.index(0) + 1] if 0 in inner else inner))
        if isinstance(data, str) and data:  # whose first is a str again
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        sizes.append(len(data))
        if len(sizes) > _MOST_DIMENSIONS:  # a list that holds itself has no end
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not sizes[-1]:
            break
        data = data[0]
    return tuple(sizes)


def _collect_types(data: Any, into: set[Any], depth: int = 0) -> None:
    """Add the types of the elements; float for an empty list, which has the default dtype.

    TypeError for a list that is its own element, ValueError for one that is so further down.
    """
    if depth > _MOST_DIMENSIONS:
        raise ValueError(f"too many dimensions '{type(data).__name__}'")
    kinds = set(map(type, data))
    if not kinds:
        into.add(float)
    elif kinds <= casts.NUMBERS:
        into |= kinds
    else:
        into |= kinds.difference(_LISTS)
        for d in data:
            if d is data:
                raise TypeError("new(): self-referential lists are incompatible with tensors")
            if isinstance(d, _LISTS):
                _collect_types(d, into, depth + 1)


def _dtype_of_types(kinds: set[Any]) -> dtypes.dtype:
    """Return the dtype to which Python's numbers of these types promote."""
    default = dtypes.get_default_dtype()
    if complex in kinds:
        return default.to_complex()
    return default if float in kinds else dtypes.int64 if int in kinds else dtypes.bool


def _may_be_large_integers(array: np.ndarray) -> Any:
    """Return whether an array may hold integers beyond int64: NumPy makes these uint64, and floats
    if a smaller one is beside them."""
    kind = array.dtype
    return kind == np.uint64 or (kind == np.float64 and (abs(array) >= 2**63).any())


def _with_large_integers(data: Any, cast: np.dtype | None, unbounded: bool) -> np.ndarray:
    """Return the array of nested numbers of which an integer may be beyond int64. ValueError where
    int64 is wanted."""
    elements = list(_elements(data))
    if any(isinstance(x, int) and not -(2**63) <= x < 2**63 for x in elements):
        has_floats = any(isinstance(x, (float, complex)) for x in elements)
        if not unbounded and (cast is not None or not has_floats):
            raise ValueError("Overflow when unpacking long long")
        if cast == np.uint64:
            if has_floats:
                raise TypeError("an integer is required")
            return np.array(data, np.uint64)
    return np.array(data, complex if any(isinstance(x, complex) for x in elements) else float)


def _elements(data: Any) -> Iterator[Any]:
    for d in data:
        if isinstance(d, _LISTS):
            yield from _elements(d)
        else:
            yield d


def _of_numbers(data: list[Any] | tuple[Any, ...]) -> bool:
    """Return whether a list holds Python's numbers only. This takes 20 us for 2048 elements, a loop
    over the elements 900."""
    return casts.NUMBERS.issuperset(map(type, data))


def _check_rectangular(data: Any, dim: int) -> None:
    if not isinstance(data, _LISTS) or _of_numbers(data):
        return
    lengths = {len(d) if isinstance(d, _LISTS) else -1 for d in data}
    if len(lengths) > 1:
        first = next(d for d in data if isinstance(d, _LISTS))
        other = next(d for d in data if not isinstance(d, _LISTS) or len(d) != len(first))
        if not isinstance(other, _LISTS):
            raise TypeError(
                f"not a sequence: {type(other).__name__}"
                if data[0] is first
                else f"new(): invalid data type '{type(first).__name__}'"
            )
        raise ValueError(
            f"expected sequence of length {len(data[0])} at dim {dim + 1} (got {len(other)})"
        )
    for d in data:
        _check_rectangular(d, dim + 1)


# -- what is not only Python's numbers -------------------------------------------------------------


def _is_numpy_number(kind: type) -> bool:
    return issubclass(kind, (np.number, np.bool_))


def _of_mixed(
    data: Any, sizes: tuple[int, ...], kinds: set[Any], cast: np.dtype | None
) -> np.ndarray:
    """Return what ``infer`` returns for lists with NumPy's scalars, arrays, tensors or other
    sequences in them."""
    if all(k in casts.NUMBERS or _is_numpy_number(k) for k in kinds):
        found = {dtypes.from_numpy_dtype(np.dtype(k)) for k in kinds - casts.NUMBERS}
        if python := kinds & casts.NUMBERS:
            found.add(_dtype_of_types(python))
    else:
        found = set()
        _collect_dtypes(data, found)
    target = functools.reduce(dtypes.promote_types, found).numpy
    if 0 in sizes:
        return np.zeros(sizes, target)
    if cast is not None and cast.kind in "iu" and any(_fractions(data)):
        raise TypeError("only integer tensors of a single element can be converted to an index")
    array = np.array(_plain(data, sizes, 0))
    # Integers beyond int64 are objects or uint64 to NumPy, and floats beside a smaller one.
    beyond = target == np.int64 and array.dtype.kind in "uf" and array.dtype.itemsize == 8
    if array.dtype == object or (beyond and (cast is None or cast.kind in "iu")):
        raise ValueError("Overflow when unpacking long long")
    if cast is not None:
        return array
    with np.errstate(over="ignore"):
        return array.astype(target, copy=False)


def _collect_dtypes(data: Any, into: set[dtypes.dtype]) -> None:
    for d in data:
        if isinstance(d, (str, bytes)):
            raise TypeError(f"new(): invalid data type '{type(d).__name__}'")
        if isinstance(d, Tensor):
            into.add(d.dtype)
        elif isinstance(d, (bool, int, float, complex)) and not isinstance(d, np.generic):
            into.add(dtypes.scalar_dtype(d))
        elif hasattr(d, "__array__"):
            into.add(dtypes.from_numpy_dtype(d.dtype))
        elif _is_sequence(d):
            if not len(_listed(d)):
                into.add(dtypes.get_default_dtype())
            _collect_dtypes(_listed(d), into)
        else:
            raise RuntimeError(f"Could not infer dtype of {type(d).__name__}")


def _fractions(data: Any) -> Iterator[bool]:
    """Yield for each tensor among the elements whether its dtype is floating point or complex."""
    return (d.dtype.category >= 2 for d in _elements(data) if isinstance(d, Tensor))


def _plain(data: Any, sizes: tuple[int, ...], dim: int) -> Any:
    """Return nested data as what NumPy reads to the same shape: tensors as the numbers they hold.
    ValueError or TypeError where the shape is not the one read off the first of each level."""
    if isinstance(data, Tensor) and (dim == len(sizes) or data.dim()):
        if dim == len(sizes) and data.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        data = data.detach()._value("torch.tensor([tensor, …])", "torchlike.stack")
        if dim == len(sizes):
            return data.item()
    if dim == len(sizes):
        if isinstance(data, np.ndarray):
            if data.ndim:
                raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
            return data.item()
        if _is_sequence(data):
            raise TypeError(f"must be real number, not {type(data).__name__}")
        return data
    if not _is_sequence(data):
        raise TypeError(f"not a sequence: {type(data).__name__}")
    if len(data) != sizes[dim]:
        raise ValueError(f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(data)})")
    if isinstance(data, np.ndarray) and data.shape == sizes[dim:]:
        return data
    return [_plain(d, sizes, dim + 1) for d in _listed(data)]
