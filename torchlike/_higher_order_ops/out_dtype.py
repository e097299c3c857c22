"""``out_dtype``: an operator of aten's whose result has another dtype than its operands."""

from __future__ import annotations

from typing import Any

from torchlike._core import dtypes
from torchlike._ops.aten.custom import OpOverload
from torchlike.tensor import Tensor

__all__ = ["out_dtype"]

_ALLOWED_TEXT = """
aten.linear.default aten.mm.default aten.conv2d.default aten.convolution.default aten.mul.Tensor
aten.mul.Scalar aten.div.Tensor aten.div.Scalar
"""
_ALLOWED = frozenset(_ALLOWED_TEXT.split())


def out_dtype(op: Any, output_dtype: dtypes.dtype, *args: Any) -> Tensor:
    """Compute ``op(*args)`` in the dtype that the operands and ``output_dtype`` promote to, and
    give it as ``output_dtype``: ``out_dtype(torch.ops.aten.mm.default, torch.int32, a, b)`` is the
    product of two int8 matrices, summed in int32.

    ValueError for what is no overload, and for other operators than linear, mm, conv2d,
    convolution, mul and div.

    Differs from PyTorch: gradients pass through it; PyTorch's backward raises.
    """
    if not isinstance(op, OpOverload):
        raise ValueError("out_dtype's first argument must be an OpOverload")
    if op._schema.is_mutable:
        raise ValueError("out_dtype's first argument needs to be a functional operator")
    if str(op) not in _ALLOWED:
        raise ValueError(f"out_dtype only allows the following operators: {sorted(_ALLOWED)}.")
    common = output_dtype
    for a in args:
        if isinstance(a, Tensor):
            common = dtypes.promote_types(common, a.dtype)
    converted = [a.to(common) if isinstance(a, Tensor) else a for a in args]
    return op(*converted).to(output_dtype)
