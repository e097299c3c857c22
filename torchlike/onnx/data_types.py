"""``torch.onnx.TensorProtoDataType``: ONNX's numbers for types of elements."""

from __future__ import annotations

import enum

_NAMES = """
UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64
COMPLEX64 COMPLEX128 BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ
"""
TensorProtoDataType = enum.IntEnum("TensorProtoDataType", _NAMES.split(), start=0, module=__name__)
TensorProtoDataType.__doc__ = "What a field of a tensor in an ONNX file says of its elements."
