"""A region of a program that runs a second time, in backward: what it was given, as it was.

In a function captured by ``torchlike.jit`` forward and recomputation stand in one graph, where
XLA would find them equal and compute them once. So what the second run reads (arguments, weights,
random draws) passes through one ``optimization_barrier`` together with the gradient that asked for
it: the two runs are different computations, and the second cannot begin before that gradient is
there. A 16-layer MLP of width 512 at batch 8192, each two layers a region, on the CPU: a jitted
forward hands 112 instead of 1024 MB to its backward; a whole jitted step has 768 instead of 1024 MB
of temporary memory (``jax.checkpoint`` on the same layers: 752 instead of 976; XLA's CPU compiler
orders for concurrency first).
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from torchlike._core import errors, modes
from torchlike._core.storage import Storage
from torchlike._core.tape import saving
from torchlike._jit.guards.sources import set_slot, slot_value
from torchlike.amp import autocast
from torchlike.amp.autocast_mode import get_autocast_dtype, is_autocast_enabled
from torchlike.autograd.saved import is_no_container, pack, unpack
from torchlike.random import fork_rng, get_rng_state, set_rng_state
from torchlike.random.generator import accelerators
from torchlike.tensor import Tensor, wrap


class _ArgumentSnapshot:
    """An argument as it was: its base's array, its place in it, and whether it requires grad."""

    __slots__ = ("array", "kind", "packed", "requires_grad", "strides", "unpack", "view")

    def __init__(self, t: Tensor) -> None:
        self.requires_grad = t.requires_grad
        self.kind, self.strides, self.view = type(t), t._storage.strides, t._view
        self.packed = self.unpack = self.array = None
        if saving.hooks:
            # Inside another region (or the user's own hooks): saved as they say.
            self.unpack = saving.hooks[-1][1]
            self.packed = pack(self.restored(t._storage.read()).detach())
        else:
            self.array = t._storage.read()

    def fetch(self) -> Any:
        """Return the base's array again, or the tensor that the outer hooks give for it."""
        return self.array if self.unpack is None else unpack(self.unpack, self.packed)._read()

    def restored(self, array: Any) -> Tensor:
        """Return the argument with this value, without history."""
        t = wrap(array)
        if self.packed is None:
            t._storage.strides = self.strides
            if self.view is not None:
                t._view = type(self.view)(self.view.steps, self.view.dynamic, self.view.geometry)
        if self.requires_grad:
            t._requires_grad = True
        return t


class _Watching:
    """The running capture as seen by a region's first run: it notes what is read from outside."""

    def __init__(self, outer: Any) -> None:
        self.outer = outer
        #: Storages read, weakly: one that is gone cannot be read again.
        self.reads: dict[int, weakref.ref[Storage]] = {}
        self.per_call_values: list[Any] = []
        self._own: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.outer, name)

    def end(self) -> None:
        """Do nothing when the run is over."""

    def adopt(self, storage: Storage) -> None:
        self._own.add(id(storage))
        self.reads.pop(id(storage), None)
        self.outer.adopt(storage)

    def read(self, storage: Storage) -> Any:
        if id(storage) not in self._own:
            self.reads[id(storage)] = weakref.ref(storage)
        return self.outer.read(storage)

    def per_call_value(self, getter: Any) -> Any:
        value = self.outer.per_call_value(getter)
        self.per_call_values.append(value)
        return value


class _Again(_Watching):
    """The running capture as seen by the second run: behind the barrier."""

    def __init__(self, outer: Any, values: dict[int, Any], per_call_values: Sequence[Any]) -> None:
        super().__init__(outer)
        self._values = values
        self._drawn = list(per_call_values)
        self._slots: dict[tuple[int, str], tuple[Any, str, Any]] = {}

    def adopt(self, storage: Storage) -> None:
        self._values.pop(id(storage), None)
        super().adopt(storage)

    def read(self, storage: Storage) -> Any:
        found = self._values.get(id(storage))
        return super().read(storage) if found is None else found

    def write(self, storage: Storage, array: Any) -> None:
        """Keep what the second run writes for it alone: the first run has written the state."""
        if id(storage) in self._own:
            self.outer.write(storage, array)
        else:
            self._values[id(storage)] = array

    def slot_write(self, owner: Any, name: str) -> None:
        if isinstance(owner, Tensor) and id(owner._storage) in self._own:
            return
        self._slots.setdefault((id(owner), name), (owner, name, slot_value(owner, name)))

    def end(self) -> None:
        """Bind again what the second run has bound to other tensors."""
        for owner, name, before in self._slots.values():
            set_slot(owner, name, before)

    def per_call_value(self, getter: Any) -> Any:
        return self._drawn.pop(0) if self._drawn else super().per_call_value(getter)


@contextlib.contextmanager
def _seen_as(capture: Any) -> Iterator[None]:
    try:
        with modes.capturing(capture):
            yield
    finally:
        capture.end()


class Region:
    """A checkpointed call: the function, its arguments as they were, and the random state."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        preserve_rng_state: bool,
    ) -> None:
        self.function = function
        leaves, self._structure = jax.tree_util.tree_flatten(
            (args, kwargs), is_leaf=is_no_container
        )
        self._leaves: Any = [_ArgumentSnapshot(x) if isinstance(x, Tensor) else x for x in leaves]
        self._preserve = preserve_rng_state
        self._autocast = [
            (device, is_autocast_enabled(device), get_autocast_dtype(device))
            for device in ("cpu", "cuda")
        ]
        self._rng: Any = None
        self._seen: _Watching | None = None

    def release(self) -> None:
        """Let go of the arguments; without any that are tensors, it can run again."""
        if self._leaves and any(type(x) is _ArgumentSnapshot for x in self._leaves):
            self._leaves = None

    @contextlib.contextmanager
    def first_run(self) -> Iterator[None]:
        """Record, around the first run, what the second one needs."""
        if modes.is_capturing():
            self._seen = seen = _Watching(modes.the_capture())
            with _seen_as(seen):
                yield
            # Held on: the outputs' nodes must not keep what belongs to the capture alive.
            seen.outer, seen._own = None, set()
            return
        if self._preserve:
            self._rng = get_rng_state(), accelerators.states()
        yield

    @contextlib.contextmanager
    def second_run(self, cotangents: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """Restore, around the second run, what the first one found, and give (args, kwargs).
        ``cotangents`` are what asked for it."""
        if self._leaves is None:
            raise RuntimeError(errors.BACKWARD_TWICE)
        snapshots = [x for x in self._leaves if type(x) is _ArgumentSnapshot]
        arrays = [s.fetch() for s in snapshots]
        capture, capturing = modes.running_capture(), modes.is_capturing()
        context: Any = contextlib.nullcontext()
        seen = self._seen
        if capturing and seen is not None:
            given = [c._read() if isinstance(c, Tensor) else c for c in cotangents]
            alive = [s for s in (r() for r in seen.reads.values()) if s is not None]
            drawn = seen.per_call_values if self._preserve else []
            arrays, values, drawn, _ = jax.lax.optimization_barrier(
                (
                    arrays,
                    [capture.read(s) for s in alive],
                    drawn,
                    [g for g in given if g is not None],
                )
            )
            behind = {id(s): v for s, v in zip(alive, values, strict=True)}
            context = _seen_as(_Again(capture, behind, drawn))
        elif self._rng is not None:
            context = fork_rng()
        restored = iter([s.restored(a) for s, a in zip(snapshots, arrays, strict=True)])
        leaves = [next(restored) if type(x) is _ArgumentSnapshot else x for x in self._leaves]
        with contextlib.ExitStack() as stack:
            stack.enter_context(context)
            for device, enabled, dtype in self._autocast:
                if enabled or is_autocast_enabled(device):
                    stack.enter_context(autocast(device, dtype, enabled))
            if self._rng is not None and not capturing:
                state, on_accelerators = self._rng
                set_rng_state(state)
                accelerators.restore(on_accelerators)
            yield jax.tree_util.tree_unflatten(self._structure, leaves)
