"""``out=``: results of DTensors go into DTensors alone, and others into none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike._core import modes
from torchlike._runtime.mixed_operands import install
from torchlike.distributed.mixed_operands import at_first_mesh, mixed
from torchlike.distributed.tensor._api import full_tensor, where
from torchlike.distributed.written_targets import (
    has_dtensor,
    is_known_dtensor,
    is_known_ordinary,
)
from torchlike.tensor import Tensor


def into_out(op: str, target: Tensor, value: Tensor) -> Tensor:
    """Return the value that is written into a tensor of ``out=``: for an ordinary tensor of one
    element, the whole value of a DTensor.

    PyTorch's errors: RuntimeError for another ordinary tensor, ValueError for a DTensor as the
    target of ordinary ones. While a program is captured nobody knows where results lie; see
    `before_out`.
    """
    if modes.is_capturing() or target.is_meta or value.is_meta:
        return value
    is_on_mesh = where(target) is not None
    if (where(value) is not None) == is_on_mesh:
        return value
    if is_on_mesh:
        raise ValueError(f"Cannot find device mesh from args for op : aten::{op}.out")
    if target.numel() != 1 and is_known_dtensor(value):
        raise mixed(f"aten.{op}.out")
    return full_tensor(value)


def before_out(op: str, targets: Sequence[Tensor], operands: Sequence[Any]) -> None:
    """Raise the errors of `into_out` by the operands, as far as these are known. (An operand that
    was asked to lie on a mesh is a DTensor where its results may be others.)"""
    flat = [x for o in operands for x in (o if isinstance(o, (tuple, list)) else (o,))]
    for target in targets:
        if is_known_ordinary(target):
            if target.numel() != 1 and has_dtensor(flat):
                raise mixed(f"aten.{op}.out")
        elif target._storage.is_placed and all(
            is_known_ordinary(x) for x in flat if isinstance(x, Tensor)
        ):
            raise ValueError(f"Cannot find device mesh from args for op : aten::{op}.out")


@at_first_mesh
def _begin() -> None:
    install(into_out=into_out, before_out=before_out)
