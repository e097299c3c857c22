"""``finfo``, ``iinfo`` and ``to_complex``: what they say and refuse, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.parity.oracle import compare
from torchlike._runtime.reference import follows

OF_BFLOAT16 = {"to_complex: bfloat16": lambda t: str(t.bfloat16.to_complex())}
BEHAVIOURS: dict[str, Callable[[Any], Any]] = {
    "of complex": lambda t: [repr(t.finfo(d)) for d in (t.complex64, t.complex128)],
    "dtype": lambda t: (t.finfo(t.complex64).dtype, t.iinfo(t.uint16).dtype),
    "iinfo": lambda t: [repr(t.iinfo(d)) for d in (t.int8, t.uint8, t.int16, t.int32, t.int64)],
    "equal": lambda t: (
        t.finfo(t.float32) == t.finfo(t.complex64),
        t.finfo(t.float32) == t.finfo(t.float64),
        t.iinfo(t.int8) == t.iinfo(t.int8),
        t.iinfo(t.int8) != t.iinfo(t.uint8),
    ),
    "finfo: int": lambda t: t.finfo(t.int32),
    "finfo: bool": lambda t: t.finfo(t.bool),
    "finfo: number": lambda t: t.finfo(3),
    "iinfo: float": lambda t: t.iinfo(t.bfloat16),
    "iinfo: complex": lambda t: t.iinfo(t.complex64),
    "iinfo: bool": lambda t: t.iinfo(t.bool),
    "iinfo: string": lambda t: t.iinfo("int32"),
    "to_complex": lambda t: [str(d.to_complex()) for d in (t.float32, t.float64)],
    **({} if follows("bfloat16 beside complex numbers") else OF_BFLOAT16),
    "to_complex: int": lambda t: t.int8.to_complex(),
    "to_complex: bool": lambda t: t.bool.to_complex(),
}


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_limits(name: str) -> None:
    compare(BEHAVIOURS[name])
