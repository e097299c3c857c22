"""How a tensor becomes text, character for character as PyTorch 2.13 writes it.

The functions here see NumPy values and a few facts about the tensor, never the Tensor class, so
this room stands below it. Three steps: take the values that will be shown (all, or the edges of a
large tensor), turn each into a cell of one common width, and set the cells between brackets with
the suffixes behind them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

__all__ = [
    "CAPTURED",
    "contents",
    "get_printoptions",
    "parameter_repr",
    "printoptions",
    "set_printoptions",
    "summarize",
    "tensor_repr",
]


#: Stands for the values of a tensor that has none yet, in a function that is being compiled.
CAPTURED = "<captured>"


@dataclass(frozen=True)
class _PrintOptions:
    """The settings. One print reads them once, so a change in another thread can't split it."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: float = 80
    sci_mode: bool | None = None

    def summarizes(self, shape: Sequence[int]) -> bool:
        return math.prod(shape) > self.threshold


# A profile says nothing of `sci_mode`: every call of set_printoptions sets that one anyhow.
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

_options = _PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: float | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print, for the whole process.

    Args:
        precision: digits after the decimal point (4 at first).
        threshold: a tensor of more elements than this shows only its edges (1000 at first).
        edgeitems: entries of an edge, on each axis (3 at first). With 0 the size is told as well.
        linewidth: characters in a line (80 at first).
        profile: "default", "short" or "full". Applied before the other arguments.
        sci_mode: True or False forces scientific notation on or off; None goes by the values.

    An argument left as None keeps its setting, except `sci_mode`, which every call sets.

    Raises:
        ValueError: an unknown profile, or a negative precision or edgeitems.
        TypeError: precision or edgeitems is not an integer.

    Differs from PyTorch:
        An unknown profile is ignored there, and a bad precision or edgeitems taken, to fail or to
        show elements twice in the next print. `linewidth=math.inf`, which fails there when a row
        is printed, here keeps every row on one line.
    """
    global _options
    changed: dict[str, Any] = {"sci_mode": sci_mode}
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"profile must be one of {', '.join(_PROFILES)}, got {profile!r}")
        changed |= _PROFILES[profile]
    for name, count in (("precision", precision), ("edgeitems", edgeitems)):
        if count is not None:
            changed[name] = operator.index(count)
            if changed[name] < 0:
                raise ValueError(f"{name} must not be negative, got {count}")
    if threshold is not None:
        changed["threshold"] = threshold
    if linewidth is not None:
        changed["linewidth"] = linewidth
    _options = replace(_options, **changed)


def get_printoptions() -> dict[str, Any]:
    """Return the current settings by name: the keyword arguments that would set them again."""
    return asdict(_options)


@contextmanager
def printoptions(**options: Any) -> Generator[None]:
    """Apply `set_printoptions(**options)` for the length of a `with` block."""
    global _options
    before = _options
    set_printoptions(**options)
    try:
        yield
    finally:
        _options = before


# --- which values are shown


class Indexable(Protocol):
    """What knows its shape and gives the part asked for: an ndarray, a memmap, a jax.Array."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, index: Any, /) -> Any: ...


def summarize(shape: Sequence[int]) -> tuple[np.ndarray, ...] | None:
    """Return the open-mesh index (`numpy.ix_`) of the elements that are printed of a tensor of this
    shape.

    `values[summarize(shape)]` has at most `2 * edgeitems` entries on each axis, so nothing else
    needs to leave the device. None when the tensor is within the threshold and printed whole.
    """
    return _summary_index(shape, _options)


def _summary_index(shape: Sequence[int], options: _PrintOptions) -> tuple[np.ndarray, ...] | None:
    if not options.summarizes(shape):
        return None
    edge = options.edgeitems

    def entries(size: int) -> np.ndarray:
        if size <= 2 * edge:
            return np.arange(size)
        return np.concatenate([np.arange(edge), np.arange(size - edge, size)])

    return np.ix_(*map(entries, shape))


# --- from values to cells


@dataclass(frozen=True)
class _Cells:
    """Formatted values in row-major order, and the width that line breaking reckons with."""

    texts: list[str]
    width: int


def _cells(values: np.ndarray, dtype: str, options: _PrintOptions) -> _Cells:
    if dtype.startswith("complex"):
        real, imag = _float_cells(np.real(values), options), _float_cells(np.imag(values), options)
        texts = [r + _signed(i.lstrip()) + "j" for r, i in zip(real.texts, imag.texts, strict=True)]
        return _Cells(texts, real.width + imag.width + 1)
    if dtype.startswith(("float", "bfloat")):
        return _float_cells(values, options, exponent_only=dtype == "float8_e8m0fnu")
    texts = [str(value) for value in values.reshape(-1).tolist()]
    return _padded(texts, max(map(len, texts)))


def _signed(text: str) -> str:
    return text if text.startswith("-") else "+" + text


def _padded(texts: list[str], width: int) -> _Cells:
    return _Cells([text.rjust(width) for text in texts], width)


def _float_cells(
    values: np.ndarray, options: _PrintOptions, *, exponent_only: bool = False
) -> _Cells:
    """Format real floating-point values as cells, all in one notation.

    Notation and width follow from the finite nonzero values alone: an infinity beside 1. does not
    widen the column. Whole numbers are written without decimals ("3."). Scientific notation is
    taken when the magnitudes span more than a factor 1000, or one is above 1e8 or below 1e-4.

    `exponent_only`: float8_e8m0fnu has no zero and no infinity. PyTorch compares its values in
    that type, and so takes the least, 2**-127, for zero and nan for finite; a nan then rules out
    whole numbers and, failing every comparison, scientific notation.
    """
    with np.errstate(invalid="ignore"):  # widening a signalling nan is nothing to warn of
        wide = values.astype(np.float64).reshape(-1)
    telling = wide[wide != 2.0**-127] if exponent_only else wide[np.isfinite(wide) & (wide != 0)]
    numbers = wide.tolist()
    if telling.size == 0:
        return _padded([_whole(value) for value in numbers], 1)

    sci_mode = options.sci_mode
    if sci_mode is None:
        magnitudes = np.abs(telling)
        # As Python floats: their quotient may pass float64 without NumPy's overflow warning.
        high, low = float(magnitudes.max()), float(magnitudes.min())
        sci_mode = high / low > 1000 or high > 1e8 or low < 1e-4

    if not sci_mode and (telling == np.ceil(telling)).all():
        width = max(len(_whole(value)) for value in telling.tolist())
        return _padded([_whole(value) for value in numbers], width)
    spec = f".{options.precision}{'e' if sci_mode else 'f'}"
    width = max(len(format(value, spec)) for value in telling.tolist())
    return _padded([format(value, spec) for value in numbers], width)


def _whole(value: float) -> str:
    return f"{value:.0f}." if math.isfinite(value) else str(value)


# --- from cells to text


def _brackets(cells: _Cells, shape: Sequence[int], indent: int, options: _PrintOptions) -> str:
    """Put the cells between nested brackets, with dots where a summary leaves entries out.

    `shape` is the whole tensor's; `indent` is the column of the first bracket.
    """
    texts = iter(cells.texts)
    edge = options.edgeitems
    summarized = options.summarizes(shape)

    def block(axis: int, indent: int) -> str:
        if axis == len(shape):
            return next(texts)
        innermost = axis == len(shape) - 1
        elided = summarized and shape[axis] > 2 * edge
        entries = 2 * edge if elided else shape[axis]
        items = [block(axis + 1, indent + 1) for _ in range(entries)]
        if elided:
            items.insert(edge, " ..." if innermost else "...")

        newline = "\n" + " " * (indent + 1)
        if not innermost:
            # One empty line between matrices, two between stacks of them, and so on outwards.
            empty_lines = "\n" * (len(shape) - axis - 2)
            return "[" + ("," + empty_lines + newline).join(items) + "]"
        # min() goes before floor(): an infinite linewidth has no floor.
        fitting = min((options.linewidth - indent) / (cells.width + 2), len(items))
        count = max(1, math.floor(fitting))
        lines = [", ".join(items[i : i + count]) for i in range(0, len(items), count)]
        return "[" + ("," + newline).join(lines) + "]"

    return block(0, indent)


def with_suffixes(
    text: str, suffixes: Sequence[str], indent: int, linewidth: float | None = None
) -> str:
    """Append the suffixes and the parenthesis; a suffix past the linewidth starts a new line."""
    # PyTorch counts two characters more than the last line has. Kept: it decides where lines break.
    used = len(text) - text.rfind("\n") + 1
    linewidth = _options.linewidth if linewidth is None else linewidth
    for suffix in suffixes:
        if used + len(suffix) + 2 > linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


def contents(values: Indexable, dtype: str, indent: int) -> str:
    """Return the brackets and values alone, lines after the first indented by ``indent``."""
    return _contents(values, dtype, indent, _options)


def _contents(values: Indexable, dtype: str, indent: int, options: _PrintOptions) -> str:
    shape = tuple(values.shape)
    if 0 in shape:
        return "[]"
    if shape and options.edgeitems == 0 and options.summarizes(shape):
        return "[...]"
    index = _summary_index(shape, options)
    shown = np.asarray(values if index is None else values[index])
    return _brackets(_cells(shown, dtype, options), shape, indent, options)


def tensor_repr(
    values: Indexable,
    *,
    dtype: str,
    is_default_dtype: bool,
    device: str,
    is_default_device: bool,
    requires_grad: bool,
    grad_fn: str | None,
    prefix: str = "tensor(",
    is_parameter_like: bool = False,
    contents: str | None = None,
) -> str:
    """Return the `repr` of a tensor.

    Args:
        values: a NumPy array, or anything with a shape and NumPy's indexing; of a large tensor
            only `values[summarize(shape)]` is read, of a "meta" one only the shape. bfloat16 and
            float8 come as `ml_dtypes` arrays, complex32 as complex64, float4_e2m1fn_x2 as bytes.
        dtype: PyTorch's name without the module: "float32", "bfloat16", "int64", "bool".
        is_default_dtype: whether it is the default floating dtype, or the complex dtype beside
            that (complex128 where the default is float64, else complex64). int64 and bool need no
            flag.
        device: the device as text, "cpu" or "cuda:0".
        is_default_device: whether the device goes without saying.
        requires_grad: shown when there is no `grad_fn`.
        grad_fn: name of the recorded node, "MulBackward0"; None for a leaf.
        prefix: "tensor(", or a subclass's "Name(". Further lines are indented by its length.
        is_parameter_like: for a parameter of another class, which PyTorch writes as
            "Parameter(Name(...))". Changes nothing where `prefix` is "tensor(".
        contents: what a subclass writes in the place of the values, of which only the shape is
            read then.
    """
    options = _options
    shape = tuple(values.shape)
    meta, empty = device == "meta", 0 in shape
    indent = len(prefix)

    if contents is not None:
        shown = contents
    else:
        shown = "..." if meta else _contents(values, dtype, indent, options)

    suffixes = []
    if not is_default_device:
        suffixes.append(f"device='{device}'")
    if meta or (len(shape) != 1 if empty else options.edgeitems == 0):
        suffixes.append(f"size={shape}")
    # Values tell int64, bool and complex from the default dtype. Where none are shown, only the
    # default floating dtype goes without saying.
    if meta or empty:
        implied = is_default_dtype and not dtype.startswith("complex")
    else:
        implied = is_default_dtype or dtype in ("int64", "bool")
    if not implied:
        suffixes.append(f"dtype=torch.{dtype}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")

    text = with_suffixes(prefix + shown, suffixes, indent, options.linewidth)
    return f"Parameter({text})" if is_parameter_like and prefix != "tensor(" else text


def parameter_repr(text: str) -> str:
    """Return the `repr` of a Parameter, given the `tensor_repr` of it."""
    return "Parameter containing:\n" + text
