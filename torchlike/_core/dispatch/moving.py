"""From one device to another.

JAX's programs run on one device, so that no op can do this: values are moved between programs,
and a node of its own brings the gradient back. In a program that is captured all is on the device
of its operands: moving there changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import core

from torchlike._core import devices, modes
from torchlike._core.cells import KINDS
from torchlike._core.tape import Node, gradient_edge
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.jax_private.tracing import trace_state_clean
from torchlike.tensor import Tensor, wrap

if TYPE_CHECKING:
    from torchlike._core.cells import Value


class MoveNode(Node):
    """A tensor's way to another device: its gradient goes to the device that it came from."""

    __slots__ = ("source",)

    def __init__(self, t: Tensor, source: devices.device) -> None:
        super().__init__("ToCopyBackward0", [gradient_edge(t)])
        self.source = source

    def run(self, cotangents: list[Any]) -> Sequence[Value | None]:
        return [placed(cotangents[0], self.source)]

    def run_graph(self, cotangents: list[Any]) -> Sequence[Tensor | None]:
        return [moved(cotangents[0], self.source)]


def placed(value: Value, device: devices.device) -> Any:
    """Move an array to a device and return it; in a trace, whose program has one device, return it
    as it is."""
    if isinstance(value, core.Tracer) or not trace_state_clean():
        if device.type != "cpu" and modes.current.capture is not None:
            modes.current.place = device
        return value
    if not isinstance(value, (jax.Array, np.ndarray)):
        return value  # without values, or of a transform
    return jax.device_put(value, devices.to_jax(device))


def beside(value: Value, t: Tensor) -> Any:
    """Move a value that was computed on the host to the device where a tensor is, and return it."""
    return value if host().is_default or t.is_meta else placed(value, t.device)


def moved(t: Tensor, device: devices.device) -> Tensor:
    """Copy a dense tensor to another device, record the move in the graph, and return the copy.

    NotImplementedError within vmap, jvp and kin for a tensor of theirs.
    """
    value = t._read()
    if type(value) in KINDS:
        raise NotImplementedError(
            f"to({str(device)!r}) within a transform of torch.func: move the tensors before it"
        )
    result = wrap(placed(value, device))
    if t.requires_grad and modes.current.grad_enabled:
        result._node = MoveNode(t, t.device)
        result._requires_grad = True
    result._inference = bool(modes.current.inference)
    return result
