"""Runs a module and notes each result's shape, dtype and strides in ``node.meta``."""

from __future__ import annotations

from typing import Any, NamedTuple

import torchlike
from torchlike._core.size import Size
from torchlike.fx.interpreter import Interpreter
from torchlike.fx.node import Argument, Node, map_aggregate
from torchlike.tensor import Tensor

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is noted of a tensor."""

    shape: Size
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    memory_format = None
    if include_contiguity:
        for known in (
            torchlike.contiguous_format,
            torchlike.channels_last,
            torchlike.channels_last_3d,
        ):
            if result.is_contiguous(memory_format=known):
                memory_format = known
                break
    return TensorMetadata(
        result.shape,
        result.dtype,
        result.requires_grad,
        result.stride(),
        memory_format,
        result.is_quantized,
        {},
    )


class ShapeProp(Interpreter):
    """``ShapeProp(gm).propagate(*args)``: ``meta["tensor_meta"]`` and ``meta["type"]`` of nodes."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode, self.real_module = fake_mode, self.module

    def run_node(self, n: Node) -> Argument:
        result = super().run_node(n)
        found = False

        def note(value: Any) -> Argument:
            nonlocal found
            if isinstance(value, Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Argument:
        """Run the graph on arguments, noting shapes, and return the result."""
        return super().run(*args)
