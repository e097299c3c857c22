"""``out=``: results of DTensors go into DTensors alone, and others into none."""

from __future__ import annotations

from torchlike._core import modes
from torchlike._core.tensor import Tensor
from torchlike._runtime.mixed_operands import checks_out
from torchlike.distributed.mixed_operands import mixed
from torchlike.distributed.tensor._api import full_tensor, where


@checks_out
def into_out(op: str, target: Tensor, value: Tensor) -> Tensor:
    """What is written into a tensor of ``out=``: an ordinary tensor of no dimension gets the value.

    PyTorch's errors: RuntimeError for another ordinary tensor, ValueError for a DTensor as the
    target of ordinary ones. While a program is captured nobody knows where results lie.
    """
    if modes.current.capture is not None or target.is_meta or value.is_meta:
        return value
    is_on_mesh = where(target) is not None
    if (where(value) is not None) == is_on_mesh:
        return value
    if is_on_mesh:
        raise ValueError(f"Cannot find device mesh from args for op : aten::{op}.out")
    if target.dim():
        raise mixed(f"aten.{op}.out")
    return full_tensor(value)
