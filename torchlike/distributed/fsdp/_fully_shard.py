"""``fully_shard``: a module whose parameters lie in parts on the devices of a mesh."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import jax
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._runtime.homes import home
from torchlike.distributed.device_mesh import DeviceMesh, init_device_mesh, mesh_of
from torchlike.distributed.fsdp._gathering import Sharded, run
from torchlike.distributed.fsdp._policies import (
    CPUOffloadPolicy,
    MixedPrecisionPolicy,
    OffloadPolicy,
)
from torchlike.distributed.tensor._api import place_, where
from torchlike.distributed.tensor._declared import declared
from torchlike.distributed.tensor._specs import entries_of
from torchlike.distributed.tensor.placement_types import Replicate, Shard
from torchlike.nn.modules.container import ModuleDict, ModuleList
from torchlike.nn.modules.module import Module
from torchlike.nn.parameter import is_lazy
from torchlike.tensor import Tensor

_M = TypeVar("_M")  # a module, or a list of them
_STATE = "_fully_sharded"


class UnshardHandle:
    """What ``unshard(async_op=True)`` gives: there is nothing to wait for."""

    def wait(self) -> None:
        """Do nothing."""


class FSDPModule:
    """What ``fully_shard`` makes of a module's class: its parameters are gathered around forward.

    Most of what PyTorch's can be told is how communication is scheduled, which is XLA's to decide;
    it is accepted and changes nothing.
    """

    def reshard(self) -> None:
        """Do nothing: parameters are in parts but for the time of a forward and of its backward."""

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Do nothing: each forward gathers, and ``p.full_tensor()`` gives a whole parameter."""
        return UnshardHandle() if async_op else None

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Do nothing: gradients accumulate in parts, as sums over all devices, with the values that
        PyTorch's have after the last, synchronized backward."""

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Do nothing: see set_requires_gradient_sync."""

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Do nothing."""

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Set whether backward gathers the parameters again."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(
                f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}"
            )
        for state in _states(self) if recurse else [_state(self)]:
            state.reshard = reshard_after_forward
        modes.epoch.advance()

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Do nothing: what backward gathers lives as long as the op that needs it."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Do nothing: XLA schedules."""

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Do nothing: XLA schedules."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Do nothing: what backward does not need it does not gather."""

    def set_post_optim_event(self, event: Any) -> None:
        """Do nothing: XLA orders by the data."""

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Raise NotImplementedError: the gradient is that of the loss over the global batch."""
        raise NotImplementedError(
            "set_gradient_divide_factor: the loss is that of the global batch, and nothing is "
            "divided by the number of devices; scale the loss instead"
        )

    set_reduce_scatter_divide_factor = set_gradient_divide_factor


def _state(module: Any) -> Sharded:
    found = vars(module).get(_STATE)
    if found is None:
        raise RuntimeError(f"No FSDP state found on {module}")
    return found


def _states(module: Any) -> list[Sharded]:
    return [vars(m)[_STATE] for m in module.modules() if _STATE in vars(m)]


def _forward(self: Any, *args: Any, **kwargs: Any) -> object:
    cls = type(self).__mro__[2]
    return run(vars(self)[_STATE], functools.partial(cls.forward, self), args, kwargs)


@functools.cache
def _class_of(cls: type) -> type:
    """Make the class of a fully sharded module of class ``cls``."""
    forward = functools.wraps(cls.forward)(lambda self, *a, **k: _forward(self, *a, **k))  # type: ignore[attr-defined]
    names = {"forward": forward, "__module__": home(cls), "__doc__": cls.__doc__}
    return type(f"FSDP{cls.__name__}", (FSDPModule, cls), names)


def fully_shard(
    module: _M,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: Any = None,
    shard_placement_fn: Callable[[Tensor], Any] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: Iterable[Tensor] | None = None,
) -> _M:
    """Put the module's parameters onto the mesh in parts, in place; gives the module.

    Applied bottom-up: a module takes the parameters that no module inside it has taken. They become
    DTensors cut in dimension 0 and stay the objects that they are; forward gathers them and cuts
    the outermost module's inputs in dimension 0. A mesh of two dimensions is (replicas, parts).

    ValueError for what cannot be sharded (a container without forward, a second time, a mesh of
    three dimensions), NotImplementedError for lazy parameters.

    Where the mesh spans processes, plain inputs are each process' own batch, and gradients the mean
    over processes. Differs from PyTorch: a process that drives all devices holds the global batch,
    and the loss is that of the whole; so are DTensors as inputs. A
    parameter whose dimension 0 does not divide says that it is cut there, as in PyTorch, and lies
    in memory cut in the first dimension that does divide, or replicated.
    """
    given: Any = module
    modules: list[Module] = list(given) if isinstance(given, (list, tuple)) else [given]
    for m in modules:
        _check(m)
    if type(reshard_after_forward) is int:
        reshard_after_forward = reshard_after_forward > 1
    at = mesh or _default_mesh(modules)
    if at.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {at}")
    if isinstance(offload_policy, CPUOffloadPolicy) and at.device_type != "cpu":
        raise NotImplementedError(
            "fully_shard(offload_policy=CPUOffloadPolicy()): parameters wait on their devices; use "
            "a larger mesh, or activation checkpointing"
        )
    ignored = {id(p) for p in ignored_params or ()}
    places = [
        (m, name)
        for m in _own_modules(modules)
        for name, p in m._parameters.items()
        if p is not None and id(p) not in ignored
    ]
    for p in {id(m._parameters[name]): m._parameters[name] for m, name in places}.values():
        _shard(p, at, shard_placement_fn)
    for m in modules:
        own = places if m is modules[0] else []
        state = Sharded(at, mp_policy or MixedPrecisionPolicy(), reshard_after_forward, own)
        if len(modules) > 1:
            state.places = [place for place in places if place[0] in set(m.modules())]
        vars(m)[_STATE] = state
        m.__class__ = _class_of(type(m))
    modes.epoch.advance()
    return module


def _check(m: Any) -> None:
    if isinstance(m, (ModuleList, ModuleDict)) and type(m).forward is Module.forward:
        raise ValueError(
            f"fully_shard does not support containers that do not implement forward: {m}"
        )
    if _STATE in vars(m):
        raise AssertionError(f"Each module should be fully_shard-ed once: {m}")
    if any(is_lazy(p) for p in m.parameters()):
        raise NotImplementedError("fully_shard() of lazy parameters: call the module once before")


def _own_modules(modules: list[Module]) -> list[Module]:
    """Return the modules inside that are in no fully sharded module inside."""
    found: dict[int, Module] = {}
    waiting = list(modules)
    while waiting:
        m = waiting.pop()
        if _STATE in vars(m) or id(m) in found:
            continue
        found[id(m)] = m
        waiting += [child for child in m._modules.values() if child is not None]
    return list(found.values())


def _default_mesh(modules: list[Module]) -> DeviceMesh:
    p = next(iter(modules[0].parameters()), None)
    kind = "cpu" if p is None or p.is_meta else p.device.type
    place = None if p is None else where(p)
    if place is not None:
        raise ValueError(
            "fully_shard() of DTensors needs the mesh: pass the dimension of their mesh to shard "
            "along, mesh=mesh_2d['dp']"
        )
    return init_device_mesh(kind, (len(jax.devices()),))


def _shard(p: Tensor, mesh: DeviceMesh, wanted: Callable[[Tensor], Any] | None) -> None:
    """Cut a parameter along the mesh's last dimension, in place."""
    place = where(p)
    entries: list[tuple[str, ...]] = (
        [()] * p.dim() if place is None else entries_of(place[0], p.dim())
    )
    if place is not None and place[0].mesh != mesh.jax_mesh:
        raise ValueError(
            f"fully_shard(mesh={mesh}) of a parameter on {place[1]}: both have to be slices of one "
            "mesh, mesh_2d['dp'] and mesh_2d['tp']"
        )
    axes, sizes = mesh.axes[-1], mesh.jax_mesh.shape
    asked = None if wanted is None else wanted(p)
    if asked is not None and not isinstance(asked, Shard):
        raise AssertionError(f"shard_placement_fn should give Shard or None, not {asked!r}")
    first = 0 if asked is None else asked.dim % p.dim()
    order = [first, *(d for d in range(p.dim()) if d != first)] if not first else [first]
    for dim in order:
        parts = functools.reduce(lambda n, a: n * sizes[a], (*entries[dim], *axes), 1)
        if p.shape[dim] % parts == 0 and p.shape[dim]:
            entries[dim] = (*entries[dim], *axes)
            break
    else:
        if first:
            raise NotImplementedError(
                f"FSDP does not support uneven sharding on dim {first}: {list(p.shape)} (mesh "
                f"size: {mesh.size(mesh.ndim - 1)}). Shard dimension 0, or pad it"
            )
    spec = PartitionSpec(*[e if len(e) > 1 else e[0] if e else None for e in entries])
    shown = mesh if place is None else mesh_of(mesh.jax_mesh)
    said = None
    if place is None and p.dim():
        said = declared((*[Replicate()] * (mesh.ndim - 1), Shard(first)), mesh, tuple(p.shape))
    place_(p, shown, NamedSharding(mesh.jax_mesh, spec), said)


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Have another method of a fully sharded module run as its forward does. AttributeError where
    there is none; nothing for other modules."""
    if _STATE not in vars(module):
        return
    if not hasattr(module, method_name):
        raise AttributeError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> object:
        return run(_state(module), method, args, kwargs)

    object.__setattr__(module, method_name, wrapped)


def share_comm_ctx(modules: list[Any]) -> None:
    """Do nothing: XLA schedules communication."""
