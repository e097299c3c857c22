"""dtypes, the default dtype, PyTorch's promotion rules, and the 64-bit policy.

PyTorch's integers are 64-bit by default, so importing torchlike turns on JAX's 64-bit types
(``x64``); the default float stays float32.
"""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from torchlike._runtime import x64
from torchlike._runtime.provided import Signal

x64.enable()

_BOOLS = (bool, np.bool_)  # before this module's own `bool` hides Python's
_CATEGORY = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


class dtype:
    """An element type. Compared by identity; prints as PyTorch prints it (``torch.float32``)."""

    __module__ = "torchlike"
    __slots__ = (
        "category",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "numpy",
    )

    def __init__(self, name: str, numpy_dtype: Any, kind: str) -> None:
        self.name = name
        self.numpy = found = np.dtype(numpy_dtype)
        self.category = _CATEGORY[kind]
        self.is_floating_point = kind == "f"
        self.is_complex = kind == "c"
        self.is_signed = kind in "ifc"
        self.itemsize = found.itemsize

    def to_real(self) -> dtype:
        """Return float32 for complex64 and float64 for complex128; a real dtype itself."""
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        """Return the complex dtype with components of this width (float32 and narrower: complex64).
        RuntimeError for integers and bool.

        Differs from PyTorch: float16 gives complex64, for there is no complex32.
        """
        if self.is_complex:
            return self
        if not self.is_floating_point:
            raise RuntimeError(f"Unknown Complex ScalarType for {scalar_type(self)}")
        return complex128 if self is float64 else complex64

    @property
    def dtype(self) -> np.dtype:
        """NumPy's, for NumPy and JAX: ``np.zeros(2, dtype=torch.float32)``."""
        return self.numpy

    #: The same to NumPy 2.4 and later.
    __numpy_dtype__ = dtype

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


float32 = dtype("float32", np.float32, "f")
float64 = dtype("float64", np.float64, "f")
float16 = dtype("float16", np.float16, "f")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, "f")
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "f")
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, "f")
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, "f")
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, "f")
complex64 = dtype("complex64", np.complex64, "c")
complex128 = dtype("complex128", np.complex128, "c")
uint8 = dtype("uint8", np.uint8, "u")
int8 = dtype("int8", np.int8, "i")
int16 = dtype("int16", np.int16, "i")
int32 = dtype("int32", np.int32, "i")
int64 = dtype("int64", np.int64, "i")
uint16 = dtype("uint16", np.uint16, "u")
uint32 = dtype("uint32", np.uint32, "u")
uint64 = dtype("uint64", np.uint64, "u")
bool = dtype("bool", np.bool_, "b")

ALL: tuple[dtype, ...] = (
    float32,
    float64,
    float16,
    bfloat16,
    float8_e4m3fn,
    float8_e5m2,
    float8_e4m3fnuz,
    float8_e5m2fnuz,
    complex64,
    complex128,
    uint8,
    int8,
    int16,
    int32,
    int64,
    uint16,
    uint32,
    uint64,
    bool,
)

#: PyTorch's second names.
ALIASES = {
    "float": float32,
    "double": float64,
    "half": float16,
    "cfloat": complex64,
    "cdouble": complex128,
    "short": int16,
    "int": int32,
    "long": int64,
}

#: Names of methods that convert to a dtype: ``t.half()``.
BY_METHOD = {
    **ALIASES,
    "bfloat16": bfloat16,
    "char": int8,
    "byte": uint8,
    "bool": bool,
}

_BY_NUMPY = {d.numpy: d for d in ALL}
_BAREBONES = (uint16, uint32, uint64)
_FLOAT8 = (float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz)

#: numpy dtypes that can carry a gradient; a set look-up, because it stands on the per-op path.
DIFFERENTIABLE = frozenset(d.numpy for d in ALL if d.category >= 2)


def from_numpy_dtype(numpy_dtype: Any) -> dtype:
    """Return the torchlike dtype of a numpy/JAX dtype; raise TypeError for one PyTorch does not
    have."""
    try:
        return _BY_NUMPY[numpy_dtype]
    except (KeyError, TypeError):
        found = _BY_NUMPY.get(np.dtype(numpy_dtype))
        if found is None:
            supported = ", ".join(d.name for d in ALL)
            raise TypeError(
                f"can't convert np.ndarray of type {numpy_dtype}. The only supported types are: "
                f"{supported}."
            ) from None
        return found


def is_known(numpy_dtype: object) -> builtins.bool:
    """Return whether a numpy/JAX dtype is one that PyTorch has."""
    return numpy_dtype in _BY_NUMPY


#: Python's types as dtype arguments: PyTorch means 64 bits, whatever the default dtype is.
_PYTHON = {float: float64, complex: complex128, int: int64, _BOOLS[0]: bool}


def from_argument(value: object) -> dtype:
    """Return the dtype that a user's argument names: one of ours, or Python's float (float64),
    complex (complex128), int and bool. TypeError for anything else, NumPy's dtypes among it."""
    if isinstance(value, dtype):
        return value
    if isinstance(value, type) and value in _PYTHON:
        return _PYTHON[value]
    raise TypeError(f"dtype must be a torch.dtype, not {type(value).__name__}")


def is_argument(value: object) -> builtins.bool:
    """Return whether ``from_argument`` takes a value, which tells ``to(dtype)`` from
    ``to(device)``."""
    return isinstance(value, dtype) or (isinstance(value, type) and value in _PYTHON)


def kind_of(numpy_dtype: np.dtype) -> str:
    """Return NumPy's letter for the kind of a dtype: b, i, u, f, c. NumPy itself says "V" of
    bfloat16."""
    return "f" if numpy_dtype.kind == "V" else numpy_dtype.kind


def is_half(numpy_dtype: np.dtype) -> builtins.bool:
    """Return whether a dtype is a float of 16 bits."""
    return numpy_dtype.itemsize == 2 and kind_of(numpy_dtype) == "f"


#: {name: (PyTorch's internal name, the C++ type)}.
_NAMES_IN_CPP = {
    "float32": ("Float", "float"),
    "float64": ("Double", "double"),
    "float16": ("Half", "c10::Half"),
    "bfloat16": ("BFloat16", "c10::BFloat16"),
    "int64": ("Long", "long int"),
    "int32": ("Int", "int"),
    "int16": ("Short", "short int"),
    "int8": ("Char", "signed char"),
    "uint8": ("Byte", "unsigned char"),
    "bool": ("Bool", "bool"),
    "complex64": ("ComplexFloat", "c10::complex<float>"),
    "complex128": ("ComplexDouble", "c10::complex<double>"),
    "uint16": ("UInt16", "short unsigned int"),
    "uint32": ("UInt32", "unsigned int"),
    "uint64": ("UInt64", "long unsigned int"),
}


def scalar_type(d: dtype | np.dtype) -> str:
    """Return PyTorch's internal name of a dtype, ours or NumPy's: most of its error messages use
    it."""
    return _NAMES_IN_CPP[d.name][0] if d.name in _NAMES_IN_CPP else d.name.capitalize()


#: The dtypes with classes of their own (``HalfTensor``, ``HalfStorage``), by PyTorch's internal
#: name.
WITH_CLASSES = {
    scalar_type(d): d
    for d in (float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, bool)
}


def c_name(d: dtype | np.dtype) -> str:
    """Return the C++ type of a dtype, ours or NumPy's ("float", "long int"): the other messages use
    it."""
    return _NAMES_IN_CPP[d.name][1] if d.name in _NAMES_IN_CPP else f"c10::{scalar_type(d)}"


# -- the default dtype -----------------------------------------------------------------------------

_default = float32
#: Caches that depend on the default dtype are cleared.
default_dtype_changed = Signal("the default dtype has changed")


def get_default_dtype() -> dtype:
    """Return the dtype of floats that are made without naming one (float32 at first)."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the default float dtype. TypeError unless ``d`` is a floating-point dtype."""
    global _default
    if not isinstance(d, dtype):
        raise TypeError(
            f"invalid dtype object: only floating-point types are supported as the default type, "
            f"got {d!r}"
        )
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if d is not _default and d.numpy is not None:  # NotImplementedError if only a name
        _default = d
        # Compiled ops have the old default baked in.
        default_dtype_changed()


# -- promotion -------------------------------------------------------------------------------------


@functools.cache
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest dtype that both can be cast to, by PyTorch's table."""
    a, b = from_argument(type1), from_argument(type2)
    if a is b:
        return a
    _ = a.numpy, b.numpy  # NotImplementedError for a dtype that is only a name
    if a in _FLOAT8 or b in _FLOAT8:
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {a.name} and "
            f"{b.name}"
        )
    low, high = sorted((a, b), key=lambda d: (d.category, d.itemsize))
    if low in _BAREBONES or high in _BAREBONES:
        if high.is_floating_point:
            return high
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{a.name} and {b.name}"
        )
    if high.is_complex:
        return complex128 if float64 in (low, high) else high
    if high.is_floating_point:
        both_half = {low, high} == {float16, bfloat16}
        return float32 if both_half else high
    if low.category == 1 and uint8 in (low, high):
        return int16 if int8 in (low, high) else high
    return high


def scalar_dtype(value: object) -> dtype:
    """Return the dtype that a Python number stands for."""
    if isinstance(value, _BOOLS):
        return bool
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    return _default.to_complex()


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    """Let a lower-priority group widen the category of ``higher``, never its width within one."""
    if higher is None or lower is None:
        return higher or lower
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        if lower.is_complex and higher is float16:
            raise NotImplementedError(
                "a float16 tensor and a complex number give torch.complex32, and XLA has no "
                "complex numbers of 16-bit floats. Convert the tensor first: x.to(torch.float32)"
            )
        return higher.to_complex() if lower.is_complex else higher
    if higher is bool or lower.category >= 2:
        return promote_types(higher, lower)
    return higher


def result_dtype(
    dimensioned: Sequence[dtype],
    zero_dim: Sequence[dtype] = (),
    wrapped: Sequence[dtype] = (),
) -> dtype:
    """Return PyTorch's result type of tensors with dimensions, 0-dim tensors and Python numbers."""
    groups = [
        functools.reduce(promote_types, g) if g else None for g in (dimensioned, zero_dim, wrapped)
    ]
    result = _combine(_combine(groups[0], groups[1]), groups[2])
    assert result is not None, "result_dtype needs at least one operand"
    return result


def can_cast(from_: dtype, to: dtype) -> builtins.bool:
    """Return whether PyTorch lets a result of dtype ``from_`` be stored in a tensor of dtype
    ``to``."""
    return from_argument(from_).category <= from_argument(to).category


# -- limits ----------------------------------------------------------------------------------------


def _of_limits(given: object, asked: str) -> dtype:
    if not is_argument(given):
        raise TypeError(
            f"{asked}(): argument 'type' (position 1) must be torch.dtype, not "
            f"{type(given).__name__}"
        )
    return from_argument(given)


class finfo:
    """Limits of a floating-point dtype (the default dtype when none is given); of a complex one,
    those of its parts."""

    __module__ = "torchlike"
    dtype: str
    bits: int
    eps: float
    max: float
    min: float
    tiny: float
    smallest_normal: float
    #: 10 to the power of minus the decimal digits that every number keeps.
    resolution: float

    def __new__(cls, type: dtype | None = None) -> finfo:
        d = _default if type is None else _of_limits(type, "finfo")
        if d.category < 2:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'"
            )
        found = _finfos.get(d)
        if found is None:
            found = _finfos[d] = super().__new__(cls)
            found._read(d)
        return found

    def _read(self, d: dtype) -> None:
        real = d.to_real()
        info = ml_dtypes.finfo(real.numpy)
        normal = float(info.smallest_normal)
        vars(self).update(
            dtype=real.name,
            bits=real.itemsize * 8,
            eps=float(info.eps),
            max=float(info.max),
            min=float(info.min),
            tiny=normal,
            smallest_normal=normal,
            resolution=10.0 ** -int(info.nmant * math.log10(2)),
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch.finfo' objects is not writable")

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, finfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __reduce__(self) -> tuple[object, ...]:
        return finfo, (globals()[self.dtype],)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


#: Asked for at each call of what clamps by it.
_finfos: dict[dtype, finfo] = {}


class iinfo:
    """Limits of an integer dtype."""

    __module__ = "torchlike"

    def __init__(self, type: dtype) -> None:
        d = _of_limits(type, "iinfo")
        if d is bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if d.category != 1:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'"
            )
        info = np.iinfo(d.numpy)
        self.dtype = d.name
        self.bits = d.itemsize * 8
        self.max = int(info.max)
        self.min = int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, iinfo) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)
