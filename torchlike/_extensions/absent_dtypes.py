"""PyTorch's dtypes that XLA has not: scripts name and compare them, but no tensor has one."""

from __future__ import annotations

from typing import Any

from torchlike._core.dtypes import dtype
from torchlike._core.dtypes import float16 as _float16


class AbsentDtype(dtype):
    """A dtype by name only: whoever wants to make an array of it is told what to use instead."""

    __module__ = "torchlike"
    __slots__ = ("instead", "why")

    def __init__(self, name: str, like: str, kind: str, why: str, instead: str) -> None:
        super().__init__(name, like, kind)
        self.why, self.instead = why, instead

    @property
    def numpy(self) -> Any:
        """Refuse, with NotImplementedError: there are no arrays of this dtype."""
        raise NotImplementedError(
            f"torch.{self.name}: {self.why}. Use instead: torch.{self.instead}."
        )

    @numpy.setter
    def numpy(self, like: Any) -> None:
        """Ignore the NumPy dtype of the same width, of which only the width is kept."""

    def to_real(self) -> dtype:
        """Return the real dtype of this width: float16 for complex32, else the dtype itself."""
        return _float16 if self.is_complex else self


_QUANTIZED = ("there are no quantized tensors", "bfloat16")
_BITS = ("no op computes with such bits, in PyTorch neither", "uint8")
_NARROW = ("no op computes with so few bits, in PyTorch neither", "int8")

#: By name.
DTYPES = {
    name: AbsentDtype(name, *facts)
    for name, facts in {
        "complex32": ("i4", "c", "XLA has no complex numbers of 16-bit floats", "complex64"),
        "float4_e2m1fn_x2": ("i1", "f", "two numbers in a byte are no dtype of XLA", "bfloat16"),
        "float8_e8m0fnu": ("u1", "f", "XLA rounds to it otherwise", "float8_e4m3fn"),
        "quint8": ("u1", "u", *_QUANTIZED),
        "qint8": ("i1", "u", *_QUANTIZED),
        "qint32": ("i4", "u", *_QUANTIZED),
        "quint4x2": ("u1", "u", *_QUANTIZED),
        "quint2x4": ("u1", "u", *_QUANTIZED),
        "bits16": ("u2", "u", *_BITS),
        **dict.fromkeys(("bits8", "bits4x2", "bits2x4", "bits1x8"), ("u1", "u", *_BITS)),
        **{f"int{n}": ("i1", "i", *_NARROW) for n in range(1, 8)},
        **{f"uint{n}": ("u1", "u", *_NARROW) for n in range(1, 8)},
    }.items()
}

#: PyTorch's second names of them.
ALIASES = {"chalf": DTYPES["complex32"], "bit": DTYPES["uint1"]}
