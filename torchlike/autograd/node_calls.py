"""``y.grad_fn(gradient)``: one node's backward by hand, without the engine."""

from __future__ import annotations

from typing import Any

from torchlike._core import modes
from torchlike._core.tape import AccumulateGrad, Node
from torchlike.autograd import engine
from torchlike.tensor import Tensor, add_method


def call(self: Node, *gradients: Tensor | None, **named: Any) -> Any:
    """Run a node on one gradient for each of its outputs (or None) and return the gradients for
    each of ``next_functions``: a tuple of them, or the only one. They are recorded in grad mode. No
    hook is called.

    TypeError for another number of gradients, or what is no tensor.
    """
    if named:
        raise TypeError("keyword arguments are not supported")
    if len(gradients) != self.n_outputs:
        raise TypeError(f"expected {self.n_outputs} arguments, got {len(gradients)} instead")
    for i, g in enumerate(gradients):
        if not (g is None or isinstance(g, Tensor)):
            raise TypeError(f"argument {i} is not a Variable")
    if isinstance(self, AccumulateGrad):
        if gradients[0] is not None:
            engine.accumulate_grad(self, gradients[0], modes.current.grad_enabled)
        return ()
    following = self.next_functions
    found: list[Any] = [None] * len(following)
    if any(g is not None for g in gradients):
        outgoing = list(self.run_graph(list(gradients)))
        places = [i for i, (behind, _) in enumerate(following) if behind is not None]
        if len(outgoing) == len(following):
            places = list(range(len(following)))
        for i, g in zip(places, outgoing, strict=True):
            found[i] = g
    return found[0] if len(found) == 1 else tuple(found)


add_method("__call__", call, Node)
