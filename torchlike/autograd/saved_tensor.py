"""``SavedTensor``: one tensor that a node saved, as ``grad_fn._raw_saved_self`` shows it.

It takes hooks of its own. The node then holds what the pack hook made of the tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core.dispatch.record import OpNode
from torchlike.autograd import saved, saved_names
from torchlike.autograd.saved_names import SavedNames

Hook = Callable[[Any], Any]

_FREED = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values "
    "of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to "
    "access saved variables after calling backward."
)
_TWICE = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one "
    "pair of hooks is allowed at a time."
)
_NONE = "Calling register_hooks on a saved tensor with value None is forbidden"


class SavedTensor:
    """A tensor as a node keeps it. Nodes make it: RuntimeError when called."""

    __slots__ = ("_hook",)
    #: Packs what the node keeps by the one hook, and has the node unpack it by the other.
    _hook: Callable[[Hook, Hook], None]

    def __new__(cls) -> SavedTensor:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def _of(cls, hook: Callable[[Hook, Hook], None]) -> SavedTensor:
        made = object.__new__(cls)
        made._hook = hook
        return made

    def register_hooks(self, *hooks: Hook) -> None:
        """Keep ``pack_hook(tensor)`` from now on, the first of two hooks; backward gets
        ``unpack_hook`` of that, the second.

        RuntimeError where there are hooks already, the tensor was freed or is None, or
        ``pack_hook`` writes to its argument. NotImplementedError for a node of strict mode.
        TypeError for anything but two functions.
        """
        if len(hooks) != 2 or not all(callable(hook) for hook in hooks):
            given = ", ".join(type(hook).__name__ for hook in hooks)
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types "
                f"are supported: two functions, not ({given})"
            )
        self._hook(*hooks)


class HookedNode(SavedNames, OpNode):
    """A node of whose saved tensors some have hooks: a `saved.Hooked` stands in their place."""

    __slots__ = ()

    def _fetch(self) -> Any:
        """Unpack what was saved, and return it packed: the node is an ordinary one until ``saved``
        is put back."""
        self._check_alive()
        packed = self.saved
        self.saved = tuple(
            [s.tensor()._value_now() if type(s) is saved.Hooked else s for s in packed]
        )
        return packed

    def _with_tensors(self, act: Callable[[], Any]) -> Any:
        packed = self._fetch()
        try:
            return act()
        finally:
            self.saved = packed

    def kept_values(self) -> Any:
        return self._with_tensors(super().kept_values)

    def run(self, cotangents: list[Any]) -> Any:
        run = super().run
        return self._with_tensors(lambda: run(cotangents))

    def run_graph(self, cotangents: list[Any]) -> Any:
        run = super().run_graph
        return self._with_tensors(lambda: run(cotangents))


saved_names.show_as(HookedNode, HookedNode)


def _of_operand(node: Any, name: str, place: int | None) -> SavedTensor:
    """Return the SavedTensor of what an operator's node saved under ``name``, in one of its places
    (None: not saved)."""

    def hook(pack_hook: Hook, unpack_hook: Hook) -> None:
        if node.is_released():
            raise RuntimeError(_FREED)
        if isinstance(node, saved.PackedNode):
            raise RuntimeError(_TWICE)
        if isinstance(node, saved.WatchedNode):
            raise NotImplementedError("register_hooks() on what a node of strict mode saved")
        if place is None or node.saved[place] is None:
            raise RuntimeError(_NONE)
        if type(node.saved[place]) is saved.Hooked:
            raise RuntimeError(_TWICE)
        packed = saved.Hooked(getattr(node, f"_saved_{name}"), pack_hook, unpack_hook)
        node.saved = (*node.saved[:place], packed, *node.saved[place + 1 :])
        node.__class__ = saved_names.named_class(HookedNode, node.short_name())

    return SavedTensor._of(hook)


saved_names.raw_saved.by(_of_operand)


def of_function(kept: Any, place: int) -> SavedTensor:
    """Return the SavedTensor of what a custom Function's node saved in one of its places."""

    def hook(pack_hook: Hook, unpack_hook: Hook) -> None:
        if kept.saved is None:
            raise RuntimeError(_FREED)
        entry = kept.saved[place]
        if entry is None:
            raise RuntimeError(_NONE)
        if kept.unpack is not None or type(entry[0]) is saved.Hooked:
            raise RuntimeError(_TWICE)
        packed = saved.Hooked(kept.tensors()[place], pack_hook, unpack_hook)
        kept.saved[place] = (packed, *entry[1:])

    return SavedTensor._of(hook)
