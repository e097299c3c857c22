"""``torch.utils.module_tracker``: which modules' forward or backward pass is running."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any, Self

from torchlike._core import modes
from torchlike.autograd.engine import queue_callback
from torchlike.autograd.graph import register_multi_grad_hook
from torchlike.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook
from torchlike.tensor import Tensor
from torchlike.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]

_log = logging.getLogger(__name__)


class ModuleTracker:
    """``with ModuleTracker() as tracker:`` ``tracker.parents`` has the names of the modules that
    run now, and always "Global".

    A module is called by its class, a part of one by the path to it (``Net.layer.0``). A module's
    backward pass runs from the gradients of its results to those of its arguments.
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._looked_into: weakref.WeakSet[Any] = weakref.WeakSet()
        self._handles: list[Any] = []
        self._ends = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass runs."""
        return modes.current.backward_pass is not None

    def _name(self, module: Any) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._looked_into:
            self._looked_into.add(module)
            for part, child in module.named_children():
                self._names[child] = f"{name}.{part}"
                self._name(child)
        return name

    def _enter(self, name: str, when: str) -> None:
        if name in self.parents:
            _log.info("%s is entered a second time, in %s", name, when)
        self.parents.add(name)

    def _leave(self, name: str, when: str) -> None:
        if name not in self.parents:
            _log.info("%s is left without having been entered, in %s", name, when)
        self.parents.discard(name)

    def _backward_begins(self, name: str) -> None:
        if not self._ends:  # what has no gradient for its arguments is never left
            self._ends = True
            queue_callback(self._backward_ended)
        self._enter(name, "backward")

    def _backward_ended(self) -> None:
        self.parents, self._ends = {"Global"}, False

    def _watch(self, tensors: Any, act: Callable[[], None]) -> None:
        wanted = [t for t in tree_leaves(tensors) if isinstance(t, Tensor) and t.requires_grad]
        if wanted:
            self._handles.append(register_multi_grad_hook(wanted, lambda grads: act()))

    def _before(self, module: Any, inputs: Any) -> None:
        name = self._name(module)
        self._enter(name, "forward")
        self._watch(inputs, lambda: self._leave(name, "backward"))

    def _after(self, module: Any, inputs: Any, outputs: Any) -> None:
        name = self._name(module)
        self._leave(name, "forward")
        self._watch(outputs, lambda: self._backward_begins(name))

    def __enter__(self) -> Self:
        self._handles += [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
