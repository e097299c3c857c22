"""A fully sharded module's call: its parameters are gathered, its function runs, they are let go.

What the ops inside save for backward of a gathered parameter is its shards: backward gathers them
once more (``reshard_after_forward``).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._runtime.trees import leaves, tree_map
from torchlike.autograd.grad_mode import no_grad
from torchlike.autograd.graph import saved_tensors_hooks
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.fsdp._of_ranks import Ranks, gathered
from torchlike.distributed.fsdp._policies import MixedPrecisionPolicy
from torchlike.distributed.lent_meshes import lend
from torchlike.distributed.tensor._api import where
from torchlike.distributed.tensor._layouts import batch_along
from torchlike.distributed.tensor._moves import moved
from torchlike.distributed.tensor._specs import entries_of
from torchlike.distributed.transfers import shared
from torchlike.tensor import Tensor, wrap

_T = TypeVar("_T")


class _Running(threading.local):
    """How many fully sharded modules this thread is in."""

    depth = 0


_running = _Running()


class Sharded:
    """What a fully sharded module knows of itself."""

    def __init__(
        self,
        mesh: DeviceMesh,
        policy: MixedPrecisionPolicy,
        reshard: bool | None,
        places: list[tuple[Any, str]],
    ) -> None:
        self.mesh = mesh
        self.policy = policy
        #: ``reshard_after_forward``; None: all but the outermost module.
        self.reshard = reshard
        #: The parameters that it gathers: (module, name), all names of each.
        self.places = places
        self.axes = tuple(a for axes in mesh.axes for a in axes)
        self._ranks: Ranks | None = None
        self.batch = NamedSharding(mesh.jax_mesh, PartitionSpec(self.axes))
        if mesh.is_local:
            lend(mesh.jax_mesh)

    def __deepcopy__(self, memo: Any) -> Sharded:
        raise NotImplementedError(
            "copy.deepcopy() of a fully sharded module: make another one, shard it, and load the "
            "state_dict of this"
        )

    def ranks_of(self, args: Any, kwargs: Any) -> Ranks | None:
        """Return the processes whose own batches these inputs are: of a mesh that spans processes,
        where no input lies on all of it; None otherwise. NotImplementedError as of `Ranks`."""
        if self.mesh.is_local or any(map(self._is_global, leaves((args, kwargs), Tensor))):
            return None
        if self._ranks is None:
            self._ranks = Ranks(self.mesh)
        return self._ranks

    def _is_global(self, t: Tensor) -> bool:
        place = where(t)
        if place is None and modes.is_capturing():
            return shared(t) == (self.mesh.jax_mesh, ())
        return place is not None and place[0].mesh == self.mesh.jax_mesh

    def gathered(self, sharding: NamedSharding, ndim: int) -> NamedSharding:
        """Return a parameter's sharding without the axes that it is gathered along."""
        kept = [tuple(a for a in e if a not in self.axes) for e in entries_of(sharding, ndim)]
        spec = PartitionSpec(*[e if len(e) > 1 else e[0] if e else None for e in kept])
        return NamedSharding(sharding.mesh, spec)


def run(state: Sharded, function: Callable[..., _T], args: Any, kwargs: Any) -> _T:
    """Call ``function(*args, **kwargs)`` with the module's parameters gathered, and return its
    result."""
    is_root = not _running.depth
    ranks = state.ranks_of(args, kwargs)
    if is_root and ranks is None:
        args, kwargs = _each_tensor(lambda t: _as_batch(state, t), (args, kwargs))
    policy = state.policy
    if policy.param_dtype is not None and policy.cast_forward_inputs:
        args, kwargs = _each_tensor(lambda t: _cast(t, policy.param_dtype), (args, kwargs))
    reshard = not is_root if state.reshard is None else state.reshard
    _running.depth += 1
    try:
        with batch_along(state.axes, ranks is not None), _gathered(state, reshard, ranks):
            out = function(*args, **kwargs)
    finally:
        _running.depth -= 1
    if policy.output_dtype is not None:
        out = _each_tensor(lambda t: _cast(t, policy.output_dtype), out)
    return out


def _each_tensor(function: Callable[[Tensor], Tensor], nested: _T) -> _T:
    """Return a tree with each tensor replaced; other leaves as they are."""
    return cast("_T", tree_map(lambda x: function(x) if isinstance(x, Tensor) else x, nested))


def _cast(t: Tensor, dtype: Any) -> Tensor:
    return t.to(dtype) if t.is_floating_point() else t


def _as_batch(state: Sharded, t: Tensor) -> Tensor:
    """Return an input cut along dimension 0, as the ranks' own batches are in PyTorch; as it is
    where it lies on a mesh already, or does not divide."""
    if where(t) is not None or not t.dim() or not t.shape[0] or not state.mesh.is_local:
        return t
    return t if t.shape[0] % state.mesh.size() else moved(t, state.batch)


@contextlib.contextmanager
def _gathered(state: Sharded, reshard: bool, ranks: Ranks | None) -> Iterator[None]:
    """Have the module's gathered parameters in the place of its own in a ``with`` block: for
    batches of the ``ranks``' own, or of all of them."""
    saved: dict[int, tuple[Any, ...]] = {}
    own: dict[int, Tensor] = {} if ranks is None else _gather_locally(state, ranks, saved)
    changed: list[tuple[Any, str, Tensor]] = []
    try:
        for module, name in state.places:
            p = module._parameters.get(name)
            if p is None:
                continue
            if id(p) not in own:
                own[id(p)] = _gather(state, p, saved)
            changed.append((module, name, p))
            module._rebind_tensor(name)
            module._parameters[name] = own[id(p)]
        with _letting_go(saved) if reshard else contextlib.nullcontext():
            yield
    finally:
        for module, name, p in changed:
            module._parameters[name] = p
        modes.epoch.advance_if_eager()


def _gather(state: Sharded, p: Tensor, saved: dict[int, tuple[Any, ...]]) -> Tensor:
    place = where(p)
    if place is None:
        return p
    sharding = place[0]
    to = state.gathered(sharding, p.dim())
    policy, floating = state.policy, p.is_floating_point()
    dtype = policy.param_dtype.numpy if policy.param_dtype is not None and floating else None
    reduced = policy.reduce_dtype.numpy if policy.reduce_dtype is not None and floating else None
    found = moved(p, to, sharding, dtype=dtype, reduced=reduced)
    array = found._read()
    saved[id(array)] = array, p._read(), to, dtype
    return found


def _gather_locally(
    state: Sharded, ranks: Ranks, saved: dict[int, tuple[Any, ...]]
) -> dict[int, Tensor]:
    """Gather the parameters as local tensors, by the parameters' ids."""
    found: dict[int, Tensor] = {}
    for module, name in state.places:
        p = module._parameters.get(name)
        if p is not None and where(p) is not None:
            found[id(p)] = p
    if not found:
        return found
    policy, given = state.policy, list(found.values())
    dtype = None if policy.param_dtype is None else policy.param_dtype.numpy
    reduced = None if policy.reduce_dtype is None else policy.reduce_dtype.numpy
    at = [ranks.place(*place, p.dim()) for p in given if (place := where(p)) is not None]
    for p, place, local in zip(given, at, gathered(ranks, given, at, dtype, reduced), strict=True):
        found[id(p)] = local
        array = local._read()
        saved[id(array)] = array, p._read(), (ranks, place), dtype
    return found


class _Shards:
    """What is saved of a gathered parameter: its shards, and how it is gathered."""

    __slots__ = ("array", "dtype", "to")

    def __init__(self, array: Any, to: Any, dtype: Any) -> None:
        self.array, self.to, self.dtype = array, to, dtype


def _letting_go(saved: dict[int, tuple[Any, ...]]) -> saved_tensors_hooks:
    """Return hooks for autograd's saved tensors that save the shards of what was gathered, and
    gather them again."""

    def pack(t: Tensor) -> Tensor | _Shards:
        known = saved.get(id(t._read()))
        if known is None:
            return t
        _, shards, to, dtype = known
        return _Shards(shards, to, dtype)

    def unpack(packed: Any) -> Tensor:
        if type(packed) is not _Shards:
            return packed
        if type(packed.to) is tuple:
            ranks, place = packed.to
            return wrap(ranks.whole([packed.array], [place], packed.dtype, again=True)[0])
        again = modes.is_capturing()
        with no_grad():
            return moved(wrap(packed.array), packed.to, dtype=packed.dtype, barrier=again)

    return saved_tensors_hooks(pack, unpack)
