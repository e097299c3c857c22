"""Looking at the graph: gradient edges, nodes, and hooks on several tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike import modes, tape
from torchlike.tape import GradientEdge, Node, RemovableHandle
from torchlike.tensor import Tensor

__all__ = ["GradientEdge", "Node", "get_gradient_edge", "increment_version",
           "register_multi_grad_hook"]  # fmt: skip


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge of a tensor that requires grad. RuntimeError for others."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    edge = tape.gradient_edge(tensor)
    if edge is None:
        raise RuntimeError(
            "a view made under no_grad has no gradient edge: no gradient flows into it"
        )
    return GradientEdge(*edge)


def increment_version(tensor: Any) -> None:
    """Say that a tensor (or each of several) was written to by other means."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        t._storage.version += 1


class _Several(RemovableHandle):
    """Removes the hooks of several tensors at once."""

    __slots__ = ("_handles",)

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        super().__init__({})
        self._handles = tuple(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all"
) -> RemovableHandle:
    """Call a function when the gradients of several tensors are there.

    ``mode="all"``: ``fn(gradients)``, a list with None for those that got none, once the last one
    that is part of the running backward pass has arrived. ``mode="any"``: ``fn(gradient)``, at the
    first. ValueError for another mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    for t in tensors:
        if not t.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    arrived: dict[int, Tensor] = {}
    of_pass: list[Any] = [None, 0]

    def begin() -> None:
        run = modes.current.backward_pass
        if of_pass[0] is not run:
            arrived.clear()
            of_pass[:] = run, sum(run.reaches(tape.gradient_edge(t)) for t in tensors)

    def hook_of(i: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            begin()
            arrived[i] = gradient
            if mode == "any":
                if len(arrived) == 1:
                    fn(gradient)
            elif len(arrived) == of_pass[1]:
                fn([arrived.get(k) for k in range(len(tensors))])

        return hook

    return _Several([t.register_hook(hook_of(i)) for i, t in enumerate(tensors)])
