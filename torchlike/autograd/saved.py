"""How nodes keep what they save: packed by the user's hooks, or watched for in-place writes.

An ordinary node keeps arrays, which cannot change, so a later in-place write never spoils a
gradient. Two switches of the running thread put another kind of node in its place
(``tape.saving.make``): `PackedNode`, whose saved tensors the innermost pair of hooks has turned
into something else, and, in strict mode, `WatchedNode`, which refuses to run backward after a
tensor that it saved was written to, as PyTorch does.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax

from torchlike._core import errors, modes, tape
from torchlike._core.dispatch.executable import Residuals
from torchlike._core.dispatch.record import OpNode
from torchlike._core.storage import Storage
from torchlike._core.tape import op_of_node_name, saving
from torchlike.autograd import inference_tensors
from torchlike.autograd.saved_names import SavedNames, order_of_saving, show_as
from torchlike.tensor import Tensor, wrap

__all__ = ["PackedNode", "WatchedNode", "choose_node", "is_strict_in_place", "set_strict_in_place"]


Hook = Callable[[Any], Any]


def choose_node() -> None:
    """Let dispatch make the kind of node that the thread's switches ask for."""
    if saving.hooks or saving.strict:
        saving.make = PackedNode if saving.hooks else WatchedNode
    else:
        vars(saving).pop("make", None)  # that of all threads (inference_tensors.py)


# -- hooks -----------------------------------------------------------------------------------------


class Frozen:
    """A tensor among what a pack hook gave, while a capture runs: as its array.

    A program whose traced tensors are still held after its capture is not kept; arrays may be.
    """

    __slots__ = ("array",)

    def __init__(self, t: Tensor) -> None:
        self.array = t._value_now()


def is_no_container(x: Any) -> bool:
    """Return whether what hooks or arguments hold is one thing: no tuple, list or dictionary."""
    return type(x) not in (tuple, list, dict)


def pack(t: Tensor, hook: Hook | None = None) -> Any:
    """Run a pack hook (the innermost unless given) on a tensor, without recording, and return its
    result.

    RuntimeError when the hook writes to its argument.
    """
    asked: Hook = saving.hooks[-1][0] if hook is None else hook
    version = t._storage.version
    previous = modes.current.grad_enabled
    modes.current.grad_enabled = False
    try:
        packed = asked(t)
    except Exception as error:
        error.of_hook = True  # type: ignore[attr-defined]  # dispatch hands it on as it is
        raise
    finally:
        modes.current.grad_enabled = previous
    if t._storage.version != version:
        raise RuntimeError(errors.PACK_HOOK_WRITES)
    if not modes.is_capturing():
        return packed
    return jax.tree_util.tree_map(
        lambda x: Frozen(x) if isinstance(x, Tensor) else x, packed, is_leaf=is_no_container
    )


def unpack(hook: Callable[[Any], Any], packed: Any, shape: Any = None) -> Tensor:
    """Run the unpack hook on the result of `pack` and return the tensor.

    TypeError when the hook gives something else, RuntimeError when it has another shape.
    """
    thawed = jax.tree_util.tree_map(
        lambda x: wrap(x.array) if type(x) is Frozen else x, packed, is_leaf=is_no_container
    )
    previous = modes.current.grad_enabled
    modes.current.grad_enabled = False
    try:
        t = hook(thawed)
    finally:
        modes.current.grad_enabled = previous
    if not isinstance(t, Tensor):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(t).__name__}"
        )
    if shape is not None and tuple(t.shape) != tuple(shape):
        raise RuntimeError(
            f"Output of saved tensor unpack_hook has shape {list(t.shape)}, but what was packed "
            f"had shape {list(shape)}"
        )
    return t


def _shown(array: Any, operand: Any) -> Tensor:
    """Make the tensor that a pack hook sees of a saved array: the tensor's value of now, its flags
    and history."""
    t = wrap(array)
    if isinstance(operand, Tensor):
        if operand._view is None and operand._storage.shape == array.shape:
            t._storage.strides = operand._storage.strides
        edge = tape.gradient_edge(operand) if operand.requires_grad else None
        if edge is not None:
            t._requires_grad = True
            if isinstance(edge[0], tape.AccumulateGrad):
                t._accumulator = edge[0].variable._accumulator
            else:
                t._node, t._output_nr = edge
    return t


class SavedSlot:
    """One saved array: what the hook made of it, and the shape it had."""

    __slots__ = ("packed", "shape")

    def __init__(self, array: Any, operand: Any) -> None:
        self.shape = array.shape
        self.packed = pack(_shown(array, operand))


class Hooked:
    """One saved tensor with hooks of its own."""

    __slots__ = ("_packed", "_unpack")

    def __init__(self, t: Tensor, pack_hook: Hook, unpack_hook: Hook) -> None:
        self._packed, self._unpack = pack(t, pack_hook), unpack_hook

    def tensor(self) -> Tensor:
        """Run the unpack hook and return its tensor."""
        return unpack(self._unpack, self._packed)


class PackedNode(SavedNames, OpNode):
    """A node whose saved tensors went through a pack hook, and come back when it runs."""

    __slots__ = ("_hook", "_plan", "_slots")

    def __init__(
        self,
        exe: Any,
        edges: Any,
        saved: Any,
        avals: Any,
        residuals: Any,
        n_outputs: int,
        shown_operands: Any,
        operands: Sequence[Any],
        output: Tensor | None,
    ) -> None:
        inference_tensors.refuse(exe, operands, saved, avals)
        super().__init__(exe, edges, (), avals, None, n_outputs, shown_operands)
        self._hook: Any = saving.hooks[-1][1]
        if exe.rule is None:
            given = [operands[i] for i in exe.saved]
        else:
            given = [wrap(saved[0])]
            given[0]._node, given[0]._requires_grad = self, True
        self._slots: Any = list(saved)
        for i in order_of_saving(exe):
            if hasattr(saved[i], "shape"):
                self._slots[i] = SavedSlot(saved[i], given[i])
        self._plan = None
        if residuals is not None and exe.keeps_residuals:
            self._plan = residuals.plan
            self._slots += [SavedSlot(a, None) for a in residuals.arrays]

    def _fetch(self, cotangents: Any) -> None:
        """Unpack what was saved: the node is an ordinary one until `_put_back`."""
        outer = saving.arriving
        saving.arriving = cotangents
        try:
            values = [
                unpack(self._hook, s.packed, s.shape)._value_now() if type(s) is SavedSlot else s
                for s in self._slots
            ]
        finally:
            saving.arriving = outer
        if self._plan is not None:
            n = len(self.exe.saved)
            self.residuals = Residuals(tuple(values[n:]), self._plan)
            values = values[:n]
        self.saved = tuple(values)

    def kept_values(self) -> Sequence[Any]:
        self._check_alive()
        self._fetch(())
        try:
            return self.saved
        finally:
            self._put_back()

    def _put_back(self) -> None:
        self.saved, self.residuals = (), None

    def run(self, cotangents: list[Any]) -> Sequence[Any]:
        self._check_alive()
        self._fetch(cotangents)
        try:
            return super().run(cotangents)
        finally:
            self._put_back()

    def run_graph(self, cotangents: list[Tensor | None]) -> Sequence[Any]:
        self._check_alive()
        self._fetch(cotangents)
        try:
            return super().run_graph(cotangents)
        finally:
            self._put_back()

    def release(self) -> None:
        super().release()
        if self.is_released():
            self._slots = self._hook = None  # a checkpoint's hook holds its arguments


# -- strict mode -----------------------------------------------------------------------------------


class VersionWatch:
    """The version of a storage when a tensor on it was saved."""

    __slots__ = ("_kind", "_size", "_storage", "_t", "_version")

    def __init__(self, t: Tensor, later: int = 0) -> None:
        self._storage: Storage = t._storage
        self._version = t._storage.version + later
        self._kind, self._size = t.type(), list(t.shape)
        self._t = weakref.ref(t)

    def check(self) -> None:
        """Raise RuntimeError in PyTorch's words when the tensor was written to since it was
        saved."""
        version = self._storage.version
        if version == self._version:
            return
        t = self._t()
        node = None if t is None else t._node
        which = ""
        if t is not None and node is not None:
            which = f", which is output {t._output_nr} of {op_of_node_name(node.name())},"
        hint = errors.MODIFIED_HINT_SHOWN if modes.current.anomaly else errors.MODIFIED_HINT
        raise RuntimeError(
            errors.MODIFIED.format(
                kind=self._kind,
                size=self._size,
                which=which,
                version=version,
                expected=self._version,
            )
            + hint
        )


class WatchedNode(SavedNames, OpNode):
    """A node of strict mode: it knows which storages it saved from, and their versions."""

    __slots__ = ("_watches",)
    refuses_writes = True

    def __init__(
        self,
        exe: Any,
        edges: Any,
        saved: Any,
        avals: Any,
        residuals: Any,
        n_outputs: int,
        shown_operands: Any,
        operands: Sequence[Any],
        output: Tensor | None,
    ) -> None:
        inference_tensors.refuse(exe, operands, saved, avals)
        super().__init__(exe, edges, saved, avals, residuals, n_outputs, shown_operands)
        target, saving.target = saving.target, None
        in_place = bool(operands) and operands[0] is target
        if exe.rule is not None:
            # In place, the value goes into the target, which raises its version once more.
            self._watches = [VersionWatch(target, 1) if in_place else VersionWatch(output)]  # type: ignore[arg-type]
            return
        # Of what it overwrites itself, PyTorch's in-place op saves a copy.
        self._watches = [
            VersionWatch(operands[i])
            for i in exe.saved
            if isinstance(operands[i], Tensor) and not (in_place and i == 0)
        ]

    def _check(self) -> None:
        self._check_alive()
        for watch in self._watches:
            watch.check()

    def kept_values(self) -> Sequence[Any]:
        self._check()
        return self.saved

    def run(self, cotangents: list[Any]) -> Sequence[Any]:
        self._check()
        return super().run(cotangents)

    def run_graph(self, cotangents: list[Tensor | None]) -> Sequence[Any]:
        self._check()
        return super().run_graph(cotangents)

    def release(self) -> None:
        super().release()
        if self.is_released():
            self._watches = []


show_as(PackedNode, PackedNode)
show_as(WatchedNode, WatchedNode)


class set_strict_in_place:
    """Switch strict mode on or off in this thread, from the call on; as a context manager, until
    its end.

    torchlike's graphs keep immutable arrays, so after an in-place write to a tensor that backward
    needs, the right gradient (of the values as they were) comes out. PyTorch raises RuntimeError
    ("one of the variables needed for gradient computation has been modified by an inplace
    operation"); in strict mode so does torchlike, for ops recorded while it is on. For code that
    has to run under PyTorch as well.

    Args:
      mode: True for strict mode, False for the default.

    Differs from PyTorch: a write through ``.data`` counts as well (there it goes unseen, and gives
    a wrong gradient); what a compiled function saved is not watched.

    Example:
      >>> x = torch.ones(2, requires_grad=True)
      >>> with torchlike.autograd.set_strict_in_place(True):
      ...     y = x.exp()
      >>> try:
      ...     y.add_(1).sum().backward()
      ... except RuntimeError as error:
      ...     print(str(error)[:55])
      one of the variables needed for gradient computation ha
    """

    def __init__(self, mode: Any) -> None:
        self.mode = bool(mode)
        self._previous = saving.strict
        self._switch(self.mode)

    @staticmethod
    def _switch(mode: bool) -> None:
        saving.strict, saving.target = mode, None
        choose_node()

    def __enter__(self) -> None:
        self._switch(self.mode)

    def __exit__(self, *exc: object) -> None:
        self._switch(self._previous)


def is_strict_in_place() -> bool:
    """Return whether strict mode is on in this thread.

    Returns:
      True after ``set_strict_in_place(True)``; False by default.

    Example:
      >>> torchlike.autograd.is_strict_in_place()
      False
    """
    return saving.strict
