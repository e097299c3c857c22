"""Runs a module on tensors without values, and notes each node's result in ``node.meta["val"]``."""

from __future__ import annotations

from typing import Any

from torchlike._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torchlike.fx.interpreter import Interpreter
from torchlike.fx.node import Argument, Node, map_aggregate
from torchlike.tensor import Tensor

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """``FakeTensorProp(module).propagate(*args)``: shapes, dtypes and devices of all results, and
    nothing is computed. ``mode``: whose fake tensors they are."""

    def __init__(self, module: Any, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = mode if mode is not None else FakeTensorMode(allow_non_fake_inputs=True)

    def run_node(self, n: Node) -> Argument:
        result = super().run_node(n)

        def known(value: Any) -> Argument:
            if isinstance(value, FakeTensor):
                return value.detach()
            if isinstance(value, Tensor):
                return self._mode.from_tensor(value)
            return value if isinstance(value, (int, float, bool)) else None

        found = map_aggregate(result, known)
        if found is not None:
            n.meta["val"] = found
        return result

    def propagate(self, *args: Any) -> Argument:
        """Run the graph on arguments that are fake or not, and return the result, a fake tensor."""
        return self.propagate_dont_convert_inputs(
            *(self._mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args)
        )

    def propagate_dont_convert_inputs(self, *args: Any) -> Argument:
        """Run the graph on arguments that are fake."""
        with self._mode:
            return super().run(*args)
