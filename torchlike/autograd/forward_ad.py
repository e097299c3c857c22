"""``torch.autograd.forward_ad``: forward-mode derivatives of plain code, tensor by tensor.

    with forward_ad.dual_level():
        x = forward_ad.make_dual(primal, tangent)
        y, derivative = forward_ad.unpack_dual(f(x))

``torch.func.jvp`` is the same for a function. What is computed is recorded for backward: the
gradients of duals are duals themselves. The primals and tangents that ``unpack_dual`` gives have a
graph of their own.

Differs from PyTorch: a primal and its tangent have one graph (``retain_graph=True`` to run backward
from both), which is not the one of the dual that they are parts of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torchlike._core import modes
from torchlike._core.dispatch.record import snapshot
from torchlike._core.layouts import contiguous_format
from torchlike._extensions.boxed import JvpLevel
from torchlike._extensions.boxes import Dual
from torchlike.autograd.dual_storage import DualStorage
from torchlike.tensor import Tensor, wrap

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_NAME = "forward_ad"


class UnpackedDualTensor(NamedTuple):
    """The parts of a dual tensor; ``tangent`` is None for one that is none."""

    primal: Tensor
    tangent: Tensor | None


def make_level_dual(level: JvpLevel, primal: Tensor, tangent: Tensor) -> Tensor:
    """Make a dual tensor of a level. RuntimeError where shapes or dtypes do not agree, ValueError
    for a primal that is not floating."""
    if primal.dtype.category < 2:
        raise ValueError(
            f"Expected primal to be floating point or complex, but got: {primal.dtype}"
        )
    if tangent.dtype.category < 2:
        raise ValueError(
            f"Expected tangent to be floating point or complex, but got: {tangent.dtype}"
        )
    if tangent.shape != primal.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(primal.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )
    if tangent.is_complex() and not primal.is_complex():
        tangent = tangent.real
    return wrap(Dual(level, snapshot(primal), snapshot(tangent.to(primal.dtype))))


def parts_at(level: JvpLevel, t: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the primal and the tangent of a tensor at a level; no tangent (None) where it does not
    depend on it."""
    cell = t._read()
    if type(cell) is Dual and cell.level is level:
        return cell.value, cell.tangent
    return t, None


def _running() -> JvpLevel | None:
    """Return the level that the user entered and has not left."""
    for level in modes.current.levels:
        if level.transform == _NAME:
            return level
    return None


def enter_dual_level() -> int:
    """Begin the one level there is; gives its number, 0. RuntimeError inside a level."""
    if _running() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    JvpLevel(_NAME).__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its tensors are their primals from now on. RuntimeError without one."""
    running = _running()
    if running is None and level is None:
        raise RuntimeError("Dual level must be a positive number.")
    if running is None or level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    modes.current.levels = tuple(x for x in modes.current.levels if x is not running)
    running.end()


def __getattr__(name: str) -> Any:
    if name == "_current_level":  # which libraries ask: 0 inside the level, -1 outside
        return -1 if _running() is None else 0
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


class _set_fwd_grad_enabled:
    """Whether ops on duals give tangents in this thread, from the call on; as a context manager,
    until its end."""

    def __init__(self, mode: bool) -> None:
        self.prev = modes.current.forward_grad
        modes.current.forward_grad = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        modes.current.forward_grad = self.prev


def _is_fwd_grad_enabled() -> bool:
    return modes.current.forward_grad


class dual_level:
    """``enter_dual_level`` and ``exit_dual_level`` as a context manager."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Make a dual tensor with this tangent. RuntimeError outside a level, or for a tensor that has
    a tangent already."""
    running = _running()
    if running is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for t in (tensor, tangent):  # as PyTorch's Python code does
        if not isinstance(t, Tensor):
            raise AttributeError(
                f"'{type(t).__name__}' object has no attribute 'is_floating_point'"
            )
    if parts_at(running, tensor)[1] is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported."
        )
    if parts_at(running, tangent)[1] is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not "
            "supported."
        )
    made = make_level_dual(running, tensor, tangent)
    if not modes.is_capturing() and not tensor.is_meta:
        if tangent.dtype is not tensor.dtype or tangent.stride() != tensor.stride():
            if tangent.is_complex() and not tensor.is_complex():
                tangent = tangent.real
            tangent = tangent.to(tensor.dtype).clone(memory_format=contiguous_format)
        made._storage = DualStorage(running, tensor, tangent)
    if tensor.requires_grad and modes.current.grad_enabled:
        recorded = tensor.view_as(tensor)
        made._node, made._output_nr, made._requires_grad = recorded._node, recorded._output_nr, True
    return made


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the primal and the tangent (None for a tensor that has none)."""
    running = _running()
    storage = tensor._storage
    if type(storage) is DualStorage and storage.level is running and tensor._view is None:
        return UnpackedDualTensor(storage.primal.view_as(storage.primal), storage.tangent)
    cell = tensor._read()
    if running is None or type(cell) is not Dual or cell.level is not running:
        dead = type(cell) is Dual and not cell.level.alive
        primal = cell.value if dead else tensor
        return UnpackedDualTensor(primal if running is None else primal.view_as(primal), None)
    return UnpackedDualTensor(cell.value, cell.tangent)
