"""assert_close: tensors, numbers and nests of them agree within the tolerances of their dtype."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from torchlike._core import dtypes
from torchlike._ops.creation.from_data import as_tensor
from torchlike.tensor import Tensor

#: dtype -> (rtol, atol), the defaults of PyTorch's documentation; exact for everything else.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: Any = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: Any = False,
    check_device: Any = True,
    check_dtype: Any = True,
    check_layout: Any = True,
    check_stride: Any = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Tensors must also agree in shape, and (unless told otherwise) dtype, device and, if asked,
    stride. Sequences and mappings are compared item by item. ValueError unless both tolerances or
    neither are given; TypeError for values that are not comparable.

    Example:
      >>> torch.testing.assert_close(torch.tensor(1.0), torch.tensor(1.0 + 1e-7))
    """
    options = _ComparisonOptions(
        rtol,
        atol,
        equal_nan,
        check_device,
        check_dtype,
        check_layout,
        check_stride,
        allow_subclasses,
    )
    try:
        _compare(actual, expected, options, "")
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg(str(error)) if callable(msg) else msg) from None


class _ComparisonOptions:
    def __init__(
        self,
        rtol: float | None,
        atol: float | None,
        equal_nan: Any,
        check_device: Any,
        check_dtype: Any,
        check_layout: Any,
        check_stride: Any,
        allow_subclasses: Any,
    ) -> None:
        self.rtol, self.atol = rtol, atol
        self.equal_nan = equal_nan
        self.checks = {
            "layout": check_layout,
            "device": check_device,
            "dtype": check_dtype,
            "stride()": check_stride,
        }
        self.allow_subclasses = allow_subclasses

    def check_tolerances(self, where: str) -> None:
        """Raise ValueError for one of the two; only where there is something to be close."""
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            raise ValueError(
                _at(
                    "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                    f"{missing}.",
                    where,
                )
            )

    def tolerances(self, *found: dtypes.dtype) -> tuple[float, float]:
        """Return the looser tolerances of two dtypes, as PyTorch does."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = [TOLERANCES.get(d.name, (0.0, 0.0)) for d in found]
        return max(p[0] for p in pairs), max(p[1] for p in pairs)


def _at(text: str, where: str) -> str:
    return f"{text}\n\nThe failure occurred for item {where}" if where else text


def _fail(text: str, where: str) -> None:
    raise AssertionError(_at(text, where))


def _compare(actual: Any, expected: Any, options: _ComparisonOptions, where: str) -> None:
    if actual is None or expected is None:
        if actual is not expected:
            _fail(f"None mismatch: {actual} is not {expected}", where)
    elif isinstance(expected, Mapping) and isinstance(actual, Mapping):
        _compare_mappings(actual, expected, options, where)
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            _fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", where)
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, e, options, f"{where}[{i}]")
    elif _is_number(actual) and _is_number(expected):
        _compare_numbers(actual, expected, options, where)
    elif _are_arrays(actual, expected, options.allow_subclasses):
        options.check_tolerances(where)
        _compare_tensors(as_tensor(actual), as_tensor(expected), options, where)
    else:
        raise TypeError(
            _at(
                f"No comparison pair was able to handle inputs of type {type(actual)} and "
                f"{type(expected)}.",
                where,
            )
        )


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.number, np.bool_))


def _are_arrays(actual: Any, expected: Any, subclasses: Any) -> bool:
    """Return whether the values are two tensors or two arrays, not one of each, nor a number beside
    a tensor."""
    if not isinstance(actual, (Tensor, np.ndarray)):
        return False
    if not subclasses:
        return type(actual) is type(expected)
    return isinstance(expected, type(actual)) or isinstance(actual, type(expected))


def _compare_mappings(actual: Any, expected: Any, options: _ComparisonOptions, where: str) -> None:
    missing = sorted(expected.keys() - actual.keys(), key=str)
    extra = sorted(actual.keys() - expected.keys(), key=str)
    if missing or extra:
        _fail(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {missing}\n"
            f"Additional keys in the actual mapping: {extra}",
            where,
        )
    for key in expected:
        _compare(actual[key], expected[key], options, f"{where}[{key!r}]")


def _compare_numbers(actual: Any, expected: Any, options: _ComparisonOptions, where: str) -> None:
    options.check_tolerances(where)
    actual, expected = (x.item() if isinstance(x, np.generic) else x for x in (actual, expected))
    if options.checks["dtype"] and type(actual) is not type(expected):
        _fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", where)
    kinds = [dtypes.from_numpy_dtype(np.asarray(x).dtype) for x in (actual, expected)]
    rtol, atol = options.tolerances(*kinds)
    if actual == expected or (options.equal_nan and actual != actual and expected != expected):
        return
    difference = abs(actual - expected)
    if difference <= atol + rtol * abs(expected) and np.isfinite(difference):
        return
    exact = rtol == atol == 0
    lines = [f"Scalars are not {'equal' if exact else 'close'}!", ""]
    lines.append(f"Expected {expected} but got {actual}.")
    relative = difference / abs(expected) if expected else float("inf")
    for name, value, allowed in (("Absolute", difference, atol), ("Relative", relative, rtol)):
        suffix = "" if exact else f" (up to {allowed} allowed)"
        lines.append(f"{name} difference: {value}{suffix}")
    _fail("\n".join(lines), where)


#: By layout: the names of what says where values are.
_PLACES = {
    "coo": ("indices",),
    "csr": ("crow_indices", "col_indices"),
    "bsr": ("crow_indices", "col_indices"),
    "csc": ("ccol_indices", "row_indices"),
    "bsc": ("ccol_indices", "row_indices"),
}


def _compare_sparse(actual: Any, expected: Any, options: _ComparisonOptions, where: str) -> None:
    """Compare places, then values, as they are held: duplicates are not added up."""
    kind = str(actual.layout).rpartition("_")[2]
    name = f"sparse {kind.upper()}"
    counts = actual._nnz(), expected._nnz()
    if counts[0] != counts[1]:
        _fail(
            f"The number of specified values in {name} tensors does not match: "
            f"{counts[0]} != {counts[1]}",
            where,
        )
    for part in (*_PLACES[kind], "values"):
        asked = f"_{part}" if kind == "coo" else part
        a, e = (getattr(t, asked)() for t in (actual, expected))
        tolerances = None if part == "values" else (0.0, 0.0)
        _compare_values(a, e, options, where, f"S{name[1:]} {part}", tolerances)


def _compare_tensors(
    actual: Tensor,
    expected: Tensor,
    options: _ComparisonOptions,
    where: str,
    called: str = "Tensor-likes",
) -> None:
    if actual.shape != expected.shape:
        _mismatch("shape", actual.shape, expected.shape, where)
    for name, wanted in options.checks.items():
        if wanted:
            values = [getattr(t, name.removesuffix("()")) for t in (actual, expected)]
            a, e = (v() if name.endswith("()") else v for v in values)
            if a != e:
                _mismatch(name, a, e, where)
    if actual.layout is expected.layout and str(actual.layout).startswith("torch.sparse"):
        _compare_sparse(actual, expected, options, where)
        return
    if actual.layout is not expected.layout:  # which is allowed
        actual, expected = actual.to_dense(), expected.to_dense()  # type: ignore[operator]
    _compare_values(actual, expected, options, where)


def _compare_values(
    actual: Tensor,
    expected: Tensor,
    options: _ComparisonOptions,
    where: str,
    what: str = "Tensor-likes",
    tolerances: tuple[float, float] | None = None,
) -> None:
    """Compare the elements of dense tensors, which a message calls ``what``."""
    rtol, atol = tolerances or options.tolerances(actual.dtype, expected.dtype)
    raw = [t.detach().cpu()._value("assert_close") for t in (actual, expected)]
    a, e = (_wide(values) for values in raw)
    with np.errstate(all="ignore"):
        difference = np.asarray(np.abs(a - e))
        close = raw[0] == raw[1]  # 64-bit integers before float64 rounds them
        if rtol or atol:
            close |= (difference <= atol + rtol * np.abs(e)) & np.isfinite(difference)
        if options.equal_nan:
            close |= np.isnan(a) & np.isnan(e)
        if close.all():
            return
        relative = np.asarray(difference / np.abs(e))
    relative[(difference == 0) & (e == 0)] = 0
    # Elements that agree do not count (two NaNs, where these are equal).
    difference[close] = relative[close] = 0
    bad, total = int((~close).sum()), close.size
    exact = rtol == atol == 0
    lines = [f"{what} are not {'equal' if exact else 'close'}!", ""]
    lines.append(f"Mismatched elements: {bad} / {total} ({100 * bad / total:.1f}%)")
    for name, values, allowed in (("absolute", difference, atol), ("relative", relative, rtol)):
        index = tuple(int(i) for i in np.unravel_index(values.argmax(), values.shape))
        value = values[index].item()
        whole = exact and name == "absolute" and actual.dtype.category < 2
        suffix = "" if exact else f" (up to {allowed} allowed)"
        lines.append(
            f"Greatest {name} difference: {int(value) if whole else value} at index {index}{suffix}"
        )
    _fail("\n".join(lines), where)


def _wide(values: np.ndarray) -> np.ndarray:
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _mismatch(name: str, actual: Any, expected: Any, where: str) -> None:
    _fail(f"The values for attribute '{name}' do not match: {actual} != {expected}.", where)
