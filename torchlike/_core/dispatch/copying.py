"""``copy_``: a tensor or number, broadcast and cast, is written into a tensor; and tensors go
to other devices.

JAX's programs run on one device, so that no op can go from one to another: values are moved between
programs, and a node of its own brings the gradient back. In a program that is captured all is on
the device of its operands: moving there changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import core

from torchlike._core import casts, devices, errors, modes, views
from torchlike._core.cells import KINDS, is_stand_in
from torchlike._core.dispatch.executable import Executable
from torchlike._core.dispatch.inplace import assign
from torchlike._core.dispatch.record import execute
from torchlike._core.tape import Node, check_in_place, check_inference, gradient_edge
from torchlike._runtime import first_calls, transfer, x64
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.inlining import AT_ONCE
from torchlike._runtime.jax_private.tracing import trace_state_clean
from torchlike._runtime.provided import Provided
from torchlike.tensor import Tensor, wrap

if TYPE_CHECKING:
    from jax.typing import ArrayLike

    from torchlike._core.cells import Value

_ARRAYS = (jax.Array, np.ndarray)
_copies: dict[Hashable, Executable] = {}
data_copied = Provided("is called once a tensor was copied to through ``.data``")
#: ``copied(target, source, value)`` is what `copy_` writes of the source's value, or raises.
copied = Provided("gives what `copy_` writes", lambda target, source, value: value)


def copy_(
    target: Tensor, source: Any, non_blocking: bool = False, *, expanded: bool = False
) -> Tensor:
    """Write ``source`` (a tensor or number, broadcast and cast) into ``target``; returns it.

    Alone decides how the source fits: shapes, overlaps, devices, dtypes. `Tensor._write` writes.

    RuntimeError when the shapes do not broadcast, or when the two partly overlap in memory (but
    not when an ``expanded`` source does: PyTorch does not look at those). Without gradients a write
    into a view is one compiled call in the storage's own memory.

    Example:
      >>> x = torch.zeros(2, 2)
      >>> x.copy_(torch.tensor([1, 2]))
      tensor([[1., 2.],
              [1., 2.]])
    """
    if not isinstance(target, Tensor):
        raise TypeError(f"copy_(): expected a Tensor to write to, not {type(target).__name__}")
    if target._inference:
        check_inference(target)
    geometry = target._geometry
    recorded = target.requires_grad
    name = "FillBackward0"
    # What is copied onto itself is left as it is, however its memory overlaps.
    onto_itself = source is target or (
        isinstance(source, Tensor)
        and source._storage is target._storage
        and source._geometry == geometry
        and source.dtype is target.dtype
    )
    if not onto_itself:
        views.check_writable(geometry)
    if type(source) in casts.NUMBERS:
        casts.check_fill(source, target.dtype.numpy, 1)
    if isinstance(source, Tensor):
        if (
            source._storage is target._storage
            and not onto_itself
            and not (expanded and source._geometry.size != geometry.size)
        ):
            widths = target.itemsize, source.itemsize
            views.check_partial_overlap(geometry, source._geometry, widths=widths)
        recorded = recorded or source.requires_grad
        name = "torch::autograd::CopyBackwards"
        shape = source._geometry.size
        if shape != geometry.size:
            (check_expandable if expanded else _check_broadcast)(shape, geometry.size)
    if modes.current.levels or (recorded and modes.current.grad_enabled):
        if recorded and modes.current.grad_enabled:
            check_in_place(target, True)
        _copy_recorded(target, source, geometry.size, name)
        return target
    if target.is_meta:
        target._storage.version += 1
        return target
    if isinstance(source, Tensor):
        if source.is_meta:
            raise NotImplementedError(errors.NO_DATA)
        value = source._value_now()
        if type(value) in KINDS:
            value.check_copied(target, source)
        if copied.is_provided:
            value = copied(target, source, value)
        if source.device != target.device:
            value = array_to_device(value, target.device)
    else:
        value = source
    view, storage = target._view, target._storage
    if view is None or storage.host is not None or type(storage.cell) is np.ndarray:
        value = _fitted(value, target)  # else the compiled write broadcasts and casts
    target._write(value)  # two cells may hold one immutable array: nothing needs copying
    if view is None and target._is_data:
        data_copied(target)
    return target


def _copy_recorded(target: Tensor, source: Any, size: tuple[int, ...], name: str) -> None:
    """Copy ``source`` into ``target`` and record it as an op of both: what was overwritten gets a
    gradient of zeros."""
    dtype = target.dtype.numpy
    number = not isinstance(source, Tensor)
    mask = 0
    if modes.current.grad_enabled:
        mask = 1 if target.requires_grad else 0
        mask |= 2 if not number and source.requires_grad else 0
    key = (size, dtype, mask, name)
    exe = _copies.get(key)
    if exe is None:
        fit = _fit_pure(size, dtype)
        exe = _copies[key] = Executable(
            name,
            lambda old, value: fit(value),
            mask,
            2,
            saved=(1,) if number else (),
            free=(0, 1),
            library=True,
        )
        exe.op = "copy_"
    if not number and not host().is_default and source.device != target.device:
        source = tensor_to_device(source, target.device)
    value = source if number else source._read()
    if copied.is_provided and not number:
        value = copied(target, source, value)
    assign(target, execute(exe, [target._read(), value], [target, source]))


def _check_broadcast(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    """Raise RuntimeError, in PyTorch's words, where a shape does not broadcast to just another."""
    pairs = list(zip_longest(reversed(to), reversed(shape), fillvalue=1))
    for d, (a, b) in enumerate(pairs, 1):
        if a != b and 1 not in (a, b):
            raise errors.size_mismatch(a, b, len(pairs) - d)
    wide = [b if a == 1 else a for a, b in reversed(pairs)]
    if wide != list(to):
        raise RuntimeError(errors.NO_BROADCAST.format(list(to), wide))


def check_expandable(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    """Raise RuntimeError, in PyTorch's words, where a shape does not broadcast to another."""
    lead = len(to) - len(shape)
    fits = lead >= 0 and all(a in (1, b) for a, b in zip(shape, to[lead:], strict=True))
    if not fits:
        for d, (a, b) in enumerate(zip(reversed(shape), reversed(to), strict=False)):
            if a not in (1, b):
                raise RuntimeError(
                    f"The expanded size of the tensor ({b}) must match the existing size ({a}) at "
                    f"non-singleton dimension {len(to) - 1 - d}.  Target sizes: {list(to)}.  "
                    f"Tensor sizes: {list(shape)}"
                )
        raise RuntimeError(
            f"expand({list(shape)}, size={list(to)}): the number of sizes provided ({len(to)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )


_fits: dict[Hashable, first_calls.CompiledForm] = {}


def _fitted(value: Value | complex, target: Tensor) -> Any:
    """Broadcast and cast ``value`` to the size and dtype of ``target``; return it as it is where
    they agree."""
    size, dtype = target._geometry.size, target.dtype.numpy
    if isinstance(value, _ARRAYS) and value.shape == size and value.dtype == dtype:
        return value
    fit = _fit(size, dtype)
    on_host = np.ndarray in (type(value), type(target._storage.cell))
    return first_calls.call(fit, value) if on_host else fit(value)


def _fit(size: tuple[int, ...], dtype: np.dtype) -> first_calls.CompiledForm:
    """Return the compiled broadcast and cast to a size and dtype."""
    key = (size, dtype)
    if key not in _fits:
        pure = x64.requiring(_fit_pure(size, dtype))
        _fits[key] = first_calls.jit(pure, name="expand", inline=AT_ONCE)
    return _fits[key]


def _fit_pure(size: tuple[int, ...], dtype: np.dtype) -> Callable[[ArrayLike], jax.Array]:
    def fit(value: ArrayLike) -> jax.Array:
        return jnp.broadcast_to(casts.convert(jnp.asarray(value), dtype), size)

    return fit


# -- from one device to another --------------------------------------------------------------------


class DeviceTransferNode(Node):
    """A tensor's way to another device: its gradient goes to the device that it came from."""

    __slots__ = ("source",)

    def __init__(self, t: Tensor, source: devices.device) -> None:
        super().__init__("ToCopyBackward0", [gradient_edge(t)])
        self.source = source

    def run(self, cotangents: list[Any]) -> Sequence[Value | None]:
        return [array_to_device(cotangents[0], self.source)]

    def run_graph(self, cotangents: list[Any]) -> Sequence[Tensor | None]:
        return [tensor_to_device(cotangents[0], self.source)]


def array_to_device(value: Any, device: devices.device) -> Any:
    """Move an array to a device and return it; in a trace, whose program has one device, return it
    as it is."""
    if isinstance(value, core.Tracer) or not trace_state_clean():
        if device.type != "cpu" and modes.is_capturing():
            modes.current.place = device
        return value
    if not isinstance(value, (jax.Array, np.ndarray)):
        return value  # without values, or of a transform
    try:
        return transfer.moved(value, devices.to_jax(device))
    except jax.errors.JaxRuntimeError as error:
        raise errors.out_of_memory(error) from None


def array_to_device_of(value: Any, t: Tensor) -> Any:
    """Move a value that was computed on the host to the device where a tensor is, and return it."""
    return value if host().is_default or t.is_meta else array_to_device(value, t.device)


def tensor_to_device(t: Tensor, device: devices.device) -> Tensor:
    """Copy a dense tensor to another device, record the move in the graph, and return the copy.

    NotImplementedError within vmap, jvp and kin for a tensor of theirs.
    """
    value = t._read()
    if is_stand_in(value):
        raise NotImplementedError(
            f"to({str(device)!r}) within a transform of torch.func: move the tensors before it"
        )
    result = wrap(array_to_device(value, device))
    if t.requires_grad and modes.current.grad_enabled:
        result._node = DeviceTransferNode(t, t.device)
        result._requires_grad = True
    result._inference = bool(modes.current.inference)
    return result
