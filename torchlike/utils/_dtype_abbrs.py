"""``torch.utils._dtype_abbrs``: short names of dtypes, as graphs show them."""

from __future__ import annotations

from torchlike._core import dtypes

_TEXT = """
    bfloat16 bf16 float64 f64 float32 f32 float16 f16 float8_e4m3fn f8e4m3fn
    float8_e5m2 f8e5m2 float8_e4m3fnuz f8e4m3fnuz float8_e5m2fnuz f8e5m2fnuz
    float8_e8m0fnu f8e8m0fnu float4_e2m1fn_x2 f4e2m1fnx2 complex32 c32 complex64 c64
    complex128 c128 int8 i8 int16 i16 int32 i32 int64 i64 bool b8 uint8 u8
    uint16 u16 uint32 u32 uint64 u64"""
_WORDS = _TEXT.split()
#: dtype -> "f32" and the like.
dtype_abbrs = {
    d: short
    for name, short in zip(_WORDS[::2], _WORDS[1::2], strict=True)
    for d in dtypes.ALL
    if d.name == name
}
