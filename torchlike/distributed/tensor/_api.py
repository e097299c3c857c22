"""``DTensor``: a tensor whose array lies on a mesh of devices.

Where an array lies is a fact of the array, so a DTensor is no other kind of object: any tensor on a
mesh is one (``isinstance`` asks the array), be it a parameter, a result, a gradient or a state. Ops
run as on any tensor, and XLA decides where their results lie; ``placements`` reads that back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import core
from jax.sharding import NamedSharding

from torchlike._compat.tensor_repr import repr_on_mesh
from torchlike._core import modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._extensions.meta import MetaArray
from torchlike._ops.creation.filled import full as plain_full
from torchlike._ops.creation.wrap_result import numpy_dtype
from torchlike._runtime.mixed_operands import place_of
from torchlike.distributed.device_mesh import DeviceMesh, current_mesh, mesh_of, mesh_of_tracer
from torchlike.distributed.tensor import _local, _whole
from torchlike.distributed.tensor._declared import Declared, declared, declared_of
from torchlike.distributed.tensor._moves import moved
from torchlike.distributed.tensor._specs import checked, placements_of, sharding_for
from torchlike.distributed.tensor._storage import PlacedStorage
from torchlike.distributed.tensor._terms import remaining, stacked_of, terms_of, with_terms
from torchlike.distributed.tensor.placement_types import Partial, Placement, Replicate
from torchlike.tensor import Tensor, add_method

Placements = Sequence[Placement] | None


def where(t: Tensor) -> tuple[NamedSharding, DeviceMesh] | None:
    """Return the sharding of a tensor's array and its mesh; None for a tensor that is on no mesh,
    and for a result inside a program that is being captured, which XLA has not placed yet."""
    found = _where(t)
    if modes.is_capturing():
        asked: Any = None if found is None else found[0]
        said = getattr(t._storage, "declared", None)
        if t._view is not None:  # the guard asks where the memory lies
            asked = place_of(t._storage)
        elif asked is not None and said is not None:
            asked = (asked, said)
        modes.the_capture().place_asked(t, asked)
    return found


def _where(t: Tensor) -> tuple[NamedSharding, DeviceMesh] | None:
    storage = t._storage
    if isinstance(storage, PlacedStorage) and t._view is None:
        return storage.sharding, storage.mesh
    if storage.is_ordinary or _local.is_local_part(t):
        return None
    found = getattr(storage.cell, "sharding", None)
    if not isinstance(found, NamedSharding) or isinstance(storage.cell, core.Tracer):
        return None
    if t._view is not None:
        if modes.is_capturing():
            return None
        found = getattr(t._read(), "sharding", None)
        if not isinstance(found, NamedSharding):
            return None
    return (found, mesh_of(found.mesh)) if isinstance(found.mesh, jax.sharding.Mesh) else None


class _DTensorMeta(type(Tensor)):
    """``isinstance(t, DTensor)`` asks where the tensor's array lies."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and where(instance) is not None


class DTensor(Tensor, metaclass=_DTensorMeta):
    """A tensor whose array lies on a mesh of devices; made by ``distribute_tensor``.

    It has `device_mesh`, `placements`, `redistribute`, `to_local` and `full_tensor`, which other
    tensors lack. Differs from PyTorch: ``type(t)`` stays what it was; ops take tensors on no mesh
    beside it, as if replicated; ``placements`` of results are XLA's choice, along the dimensions of
    the whole mesh, but for `Partial` between processes, which is PyTorch's. What is cut into
    unequal parts says so and is whole, or cut along another dimension, in each process' memory.
    """

    __module__ = "torch.distributed.tensor"

    def __new__(cls, *args: Any, **kwargs: Any) -> DTensor:
        raise TypeError("make a DTensor with distribute_tensor() or DTensor.from_local()")

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Placements = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Placements = None,
    ) -> Tensor:
        """Return the tensor of which ``local_tensor`` is what this process holds: all of it where
        all devices of the mesh are this process'.

        RuntimeError for a DTensor, ValueError for unequal parts that are not ``shape``'s. Differs
        from PyTorch: the terms of a `Partial` are reduced at once, too, for what needs the whole.
        Where all devices are this process' it becomes `Replicate`.
        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(
                f"the local_tensor argument only accepts torch.Tensor but got {DTensor} value."
            )
        mesh = device_mesh or current_mesh()
        wanted = checked(placements, mesh, local_tensor.dim())
        found, sharding = _local.from_local(local_tensor, mesh, wanted, shape, grad_placements)
        if mesh.is_local:
            wanted = tuple(Replicate() if isinstance(p, Partial) else p for p in wanted)
        said = declared(wanted, mesh, tuple(found.shape))
        found = keeping(found, sharding, mesh, said)
        if not mesh.is_local and any(isinstance(p, Partial) for p in wanted):
            return with_terms(
                found, mesh, stacked_of(local_tensor._value_now(), wanted, mesh), wanted
            )
        return found


class _OnMesh:
    """A method or property that only tensors on a mesh have, and with ``of_results`` also what is
    computed from them inside a program that is being captured."""

    def __init__(
        self, function: Callable[..., Any], is_property: bool = False, of_results: bool = False
    ) -> None:
        self._function = function
        self._is_property, self._of_results = is_property, of_results
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> object:
        if instance is None:
            return self if self._is_property else self._function
        if where(instance) is None and not (self._of_results and _mesh_to_be(instance)):
            self._refuse(instance)
        if self._is_property:
            return self._function(instance)
        return self._function.__get__(instance, owner)

    def _refuse(self, t: Tensor) -> None:
        """Raise AttributeError, as of an attribute that is not there."""
        name = self._function.__name__
        if isinstance(t._storage.cell, core.Tracer):
            raise AttributeError(
                f"a result inside a program that is being captured has no '{name}': XLA places it "
                "once the program is whole. Use distribute_tensor's or from_local's, or "
                "redistribute the argument that it comes from"
            )
        raise AttributeError(f"'{type(t).__name__}' object has no attribute '{name}'")


def _mesh_to_be(t: Tensor) -> DeviceMesh | None:
    """Return the mesh that a result inside a program that is being captured will lie on."""
    cell = t._storage.cell
    if not modes.is_capturing() or t._storage.is_ordinary:
        return None
    if isinstance(cell, core.Tracer):
        return mesh_of_tracer(cell)
    sharding = getattr(cell, "sharding", None)  # of a view's base
    return mesh_of(sharding.mesh) if isinstance(sharding, NamedSharding) else None


def _place(t: Tensor) -> tuple[NamedSharding, DeviceMesh]:
    found = where(t)
    assert found is not None
    return found


def device_mesh(t: Tensor) -> DeviceMesh:
    """Return the mesh that the tensor lies on."""
    return _place(t)[1]


def placements(t: Tensor) -> tuple[Placement, ...]:
    """Return the tensor's placement along each dimension of its mesh."""
    sharding, mesh = _place(t)
    return declared_of(t) or placements_of(sharding, mesh, t.dim())


def redistribute(
    t: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
    *,
    async_op: bool = False,
    forward_dtype: Any = None,
    backward_dtype: Any = None,
) -> Tensor:
    """Return the same values with other placements; the gradient comes back to where the operand
    lies.

    RuntimeError without placements, or for a `Partial` that the tensor has not.
    """
    found = where(t)
    sharding, own = (None, _mesh_to_be(t)) if found is None else found
    mesh = device_mesh or own
    assert mesh is not None
    if placements is None:
        raise RuntimeError("placements is needed for redistribute!")
    return place(t, mesh, placements, sharding, forward_dtype, backward_dtype)


def place(
    t: Tensor,
    mesh: DeviceMesh,
    placements: Placements,
    back: NamedSharding | None = None,
    forward_dtype: Any = None,
    backward_dtype: Any = None,
) -> Tensor:
    """Place any tensor, on a mesh or not, with these placements; differentiable."""
    wanted = checked(placements, mesh, t.dim())
    terms = _remaining(t, mesh, wanted) if any(isinstance(p, Partial) for p in wanted) else None
    if terms is not None and declared_of(t) == wanted:
        return t
    to = sharding_for(wanted, mesh, tuple(t.shape))
    found = moved(
        t,
        to,
        back,
        dtype=None if forward_dtype is None else forward_dtype.numpy,
        reduced=None if backward_dtype is None else backward_dtype.numpy,
    )
    if terms is not None:
        return with_terms(found, mesh, terms, wanted)
    return keeping(found, to, mesh, declared(wanted, mesh, tuple(t.shape)))


def _remaining(t: Tensor, mesh: DeviceMesh, wanted: tuple[Placement, ...]) -> Any:
    """Return the terms of which some remain, those that are `Partial` in ``wanted``. RuntimeError
    where the tensor has no such terms."""
    found = terms_of(t)
    if found is None or any(
        isinstance(p, Partial) and p != q for p, q in zip(wanted, found[1], strict=True)
    ):
        raise RuntimeError(
            f"Can not redistribute to {wanted}, redistributing to Partial is for internal use only!"
        )
    return remaining(*found, wanted, mesh)


def keeping(t: Tensor, sharding: NamedSharding, mesh: DeviceMesh, said: Declared = None) -> Tensor:
    """Give ``t``, whose cell was just made, a storage that keeps its place and the placements it
    was given, and return it."""
    if not t._storage.is_placed and t._view is None:
        t._storage = PlacedStorage(t._storage.cell, sharding, mesh, said)
    return t


def to_local(t: Tensor, *, grad_placements: Placements = None) -> Tensor:
    """Return the part that this process holds: with all devices its own, a tensor on the same
    memory; across processes its part, whose gradient is that part of the whole's.

    ``grad_placements``: how the gradients of the processes' parts make up that of the whole, if not
    as the parts do; `Partial` where they are terms of it.
    """
    return _local.to_local(t, _place(t)[1], grad_placements)


def full_tensor(t: Tensor, *, grad_placements: Placements = None) -> Tensor:
    """Gather all values, as an ordinary tensor of this process; differentiable.

    The gradient of each process' tensor is taken for the whole's, as with `Replicate`, the default
    of ``grad_placements``; with `Partial` it is the sum over processes. NotImplementedError for
    `Shard`. Differs from PyTorch: inside a compiled function on a mesh of processes with several
    devices each, the values go with tensors that all processes have the same.
    """
    found = where(t)
    if found is not None:
        return _whole.full_tensor(t, *found, grad_placements)
    mesh = _mesh_to_be(t)
    assert mesh is not None
    return _whole.full_tensor(t, None, mesh, grad_placements)


@repr_on_mesh.by
def _repr_on_mesh(t: Tensor) -> str | None:
    found = where(t)
    if found is None:
        return None
    is_own = t._storage.cell.is_fully_addressable
    own = (full_tensor if is_own else to_local)(t.detach())
    grad = ", requires_grad=True" if t.requires_grad and t.is_leaf else ""
    return (
        f"DTensor(local_tensor={own}, device_mesh={found[1]!r}, placements={placements(t)}{grad})"
    )


add_method("to_local", _OnMesh(to_local))
for _function in (redistribute, full_tensor):
    add_method(_function.__name__, _OnMesh(_function, of_results=True))
for _function in (device_mesh, placements):
    add_method(_function.__name__, _OnMesh(_function, is_property=True))
add_method("_local_tensor", _OnMesh(to_local, is_property=True))


def place_(t: Tensor, mesh: DeviceMesh, to: NamedSharding, said: Declared = None) -> None:
    """Move a leaf onto a mesh in place: it stays the object that it is, on another cell."""
    value: Any = t.detach()
    t.data = Tensor._on(
        PlacedStorage(value._storage.cell if t.is_meta else value._value_now(), to, mesh, said)
    )
    if t._grad is not None:
        t._grad = Tensor._on(PlacedStorage(t._grad._value_now(), to, mesh, said))


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
    *,
    src_data_rank: int | None = 0,
) -> Tensor:
    """Distribute a leaf as a DTensor, in parts on the devices of the mesh.

    RuntimeError for a result of other ops, ValueError for a tensor that lies on a mesh otherwise.
    Differs from PyTorch: a dimension that does not divide is said to be cut, as there, and each
    process holds all of it.
    """
    mesh = device_mesh or current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf "
            "tensor!"
        )
    wanted = checked(placements, mesh, tensor.dim())
    if any(isinstance(p, Partial) for p in wanted):
        raise NotImplementedError(
            f"distribute_tensor(placements={wanted}): one process holds sums, not their terms; use "
            "Replicate()"
        )
    found = where(tensor)
    if found is not None:
        _check_same(tensor, found, mesh, wanted)
        return tensor
    to = sharding_for(wanted, mesh, tuple(tensor.shape))
    said = declared(wanted, mesh, tuple(tensor.shape))
    made = Tensor._on(PlacedStorage(tensor.detach()._value_now(), to, mesh, said))
    made._requires_grad = tensor.requires_grad
    return made


def _check_same(t: Tensor, found: Any, mesh: DeviceMesh, wanted: Any) -> None:
    sharding, own = found
    if own != mesh:
        raise ValueError(
            f"Cannot distribute a DTensor with device mesh {own} to a different device mesh {mesh}."
        )
    present = declared_of(t) or placements_of(sharding, own, t.dim())
    if present != wanted:
        raise ValueError(
            f"Cannot distribute a DTensor with placements {present} to a different placements "
            f"{wanted}. do you want to call `redistribute` instead?"
        )


# -- factories -------------------------------------------------------------------------------------


def _filled(
    size: Any,
    value: Any,
    dtype: Any,
    requires_grad: bool,
    mesh: DeviceMesh | None,
    given: Placements,
) -> Tensor:
    """Fill a tensor on a mesh with a number, each part made where it lies."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    at = mesh or current_mesh()
    wanted = checked(given, at, len(shape))
    to = sharding_for(wanted, at, shape)
    kind = numpy_dtype(dtype)

    def part(index: Any) -> np.ndarray:
        lengths = [len(range(*i.indices(n))) for i, n in zip(index, shape, strict=True)]
        return np.full(lengths, value, kind)

    array = jax.make_array_from_callback(shape, to, part)
    said = declared(wanted, at, shape)
    return Tensor._on(PlacedStorage(array, to, at, said)).requires_grad_(requires_grad)


def zeros(
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Return zeros on a mesh (replicated where no placements are given)."""
    return _filled(size, 0, dtype, requires_grad, device_mesh, placements)


empty = zeros


def ones(
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Return a tensor of ones on a mesh."""
    return _filled(size, 1, dtype, requires_grad, device_mesh, placements)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Return a tensor full of a number, on a mesh; its dtype is ``torch.full``'s."""
    kind = plain_full((), fill_value, dtype=dtype).dtype
    return _filled((size,), fill_value, kind, requires_grad, device_mesh, placements)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Distribute ``torch.linspace`` on a mesh."""
    made = NAMESPACES[""]["linspace"](start, end, steps, dtype=dtype, requires_grad=requires_grad)
    return distribute_tensor(made, device_mesh, placements)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Distribute ``torch.logspace`` on a mesh."""
    made = NAMESPACES[""]["logspace"](
        start, end, steps, base, dtype=dtype, requires_grad=requires_grad
    )
    return distribute_tensor(made, device_mesh, placements)


def rand(
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Draw ``torch.rand`` on a mesh: the numbers that it gives on one device."""
    drawn = NAMESPACES[""]["rand"](*size, dtype=dtype, requires_grad=requires_grad)
    return distribute_tensor(drawn, device_mesh, placements)


def randn(
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
) -> Tensor:
    """Draw ``torch.randn`` on a mesh: the numbers that it gives on one device."""
    drawn = NAMESPACES[""]["randn"](*size, dtype=dtype, requires_grad=requires_grad)
    return distribute_tensor(drawn, device_mesh, placements)


def is_placed_meta(t: Tensor) -> bool:
    """Return whether a tensor has a place on a mesh and no values yet."""
    return t._storage.is_placed and type(t._storage.cell) is MetaArray
