"""Guards on tensors that code reaches by name: their history, memory, shape and flag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torchlike._core.storage import Storage
from torchlike._jit.capture.slots import hooks_of
from torchlike._jit.guards.guard import Guard
from torchlike._jit.guards.values import describe
from torchlike.tensor import Tensor


class HistoryGuard(Guard):
    """The node of a tensor's history, which an in-place operation on it exchanges."""

    __slots__ = ("label", "node", "tensor")

    def __init__(self, tensor: Tensor, label: str) -> None:
        self.tensor = tensor
        self.label = label
        self.node = tensor._node

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.tensor._node is self.node

    def expression(self, name: Callable[[Any], str]) -> str | None:
        # Most tensors never had a history; asking their dictionaries takes half the time.
        if "_node" not in self.tensor.__dict__:
            return f"'_node' not in {name(self.tensor.__dict__)}"
        return f"{name(self.tensor)}._node is {name(self.node)}"

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"the history of `{self.label}` changed"


class BaseHistoryGuard(Guard):
    """Which history the base of a view has: the view's is read from it."""

    __slots__ = ("base", "history")

    def __init__(self, base: Tensor) -> None:
        self.base = base
        self.history: int = base._history

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.base._history == self.history

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(self.base)}._history == {self.history}"

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return "the history of a view's base changed"


class TensorGuard(Guard):
    """A tensor's ``requires_grad``, and its memory and shape, which ``t.t_()`` and ``t.data = …``
    exchange."""

    __slots__ = ("label", "requires_grad", "shape", "storage", "tensor", "view")
    follows_epoch = True

    def __init__(self, tensor: Tensor, label: str) -> None:
        self.tensor = tensor
        self.label = label
        self.requires_grad: bool = tensor.requires_grad
        self.storage = tensor._storage
        self.view = tensor._view
        self.shape = tensor._storage.shape

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        t, storage = self.tensor, self.storage
        return (
            t._storage is storage
            and t._view is self.view
            and storage.shape == self.shape
            and t.requires_grad == self.requires_grad
        )

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        t = self.tensor
        if t.requires_grad != self.requires_grad:
            before = self.requires_grad
            return f"requires_grad of a {describe(t)} changed: {before} → {not before}"
        if t._storage is not self.storage or t._view is not self.view:
            return f"the shape or data of `{self.label}` changed"
        return f"the shape of a {describe(t)} changed: {self.shape} → {t._storage.shape}"


class LeafHooksGuard(Guard):
    """The hooks on a leaf whose gradient the program computes or reads."""

    __slots__ = ("hooks", "leaf")
    follows_epoch = True

    def __init__(self, leaf: Tensor) -> None:
        self.leaf = leaf
        self.hooks = hooks_of(leaf)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return bool(hooks_of(self.leaf) == self.hooks)

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return "the hooks of a tensor changed"


class RetainsGradGuard(Guard):
    """Whether a tensor keeps its gradient (``retain_grad()``): one from outside, or an argument by
    its position."""

    __slots__ = ("answer", "of")
    of_arguments = True

    def __init__(self, of: Tensor | int, answer: bool) -> None:
        self.of = of
        self.answer = answer

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        t = arguments[self.of] if isinstance(self.of, int) else self.of
        return retains(t) == self.answer

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"retains_grad of a tensor changed: {self.answer} → {not self.answer}"


def retains(t: Tensor) -> bool:
    """Return ``t.retains_grad``, of which no capture hears."""
    return t._retained if t._node is None else t._node.retains_grad(t._output_nr)


class CellsInUseGuard(Guard):
    """That no cell of the program was swapped away by ``t.data = …``."""

    __slots__ = ("cells",)
    follows_epoch = True

    def __init__(self, cells: Iterable[Storage]) -> None:
        self.cells = tuple(cells)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return not any(cell.abandoned for cell in self.cells)

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return "the .data of a tensor was replaced"
