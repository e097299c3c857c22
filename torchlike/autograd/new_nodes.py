"""``torch.autograd.graph.node_creation_hook``: who is told of each new node of the graph."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from torchlike._core import modes
from torchlike._core.tape import Node, NodeType

_lock = threading.Lock()
_entered = 0


class _Hooks(threading.local):
    """The hooks of a thread, the outermost first."""

    hooks: tuple[Callable[[Node], Any], ...] = ()
    running = False


_of_thread = _Hooks()


class node_creation_hook:
    """``with node_creation_hook(hook):`` call ``hook(node)`` with each node made inside, once it
    holds its edges and what it saved. What the hook gives is ignored.

    Of nested hooks the outermost is called first. A hook may note things in ``node.metadata`` and
    register hooks on the node; what it raises, the operation raises.

    Differs from PyTorch: the nodes are torchlike's own, so that an operation that PyTorch records
    as several may be one, and a call of a compiled function is one node; a hook is called in the
    thread that entered it. Nodes that exist in a compiled function's graph alone are not told of.

    Raises:
      TypeError: the hook is no function.
      RuntimeError: a hook makes a node.

    Example:
      >>> x = torch.ones(2, requires_grad=True)
      >>> with torch.autograd.graph.node_creation_hook(lambda node: print(node.name())):
      ...     y = x.exp()
      torch::autograd::AccumulateGrad
      ExpBackward0
    """

    def __init__(self, hook: Callable[[Node], Any]) -> None:
        self.hook = hook

    def __enter__(self) -> None:
        if not callable(self.hook):
            raise TypeError(
                f"node_creation_hook: the hook must be callable, not {type(self.hook).__name__}"
            )
        _of_thread.hooks = (*_of_thread.hooks, self.hook)
        _count(1)

    def __exit__(self, *exc: object) -> None:
        _of_thread.hooks = _of_thread.hooks[:-1]
        _count(-1)


def _count(entered: int) -> None:
    """Let classes of nodes tell of their instances as long as any thread has a hook: a class
    without ``__call__`` makes them fastest."""
    global _entered
    with _lock:
        _entered += entered
        if _entered and entered > 0:
            NodeType.__call__ = _made_and_told  # type: ignore[method-assign]
        elif not _entered:
            del NodeType.__call__


def _made_and_told(cls: type[Node], *args: Any, **kwargs: Any) -> Node:
    node = type.__call__(cls, *args, **kwargs)
    if not cls.is_completed_later:
        tell(node)
    return node


def tell(node: Node) -> None:
    """Call the hooks of this thread with a node that is complete. RuntimeError from within one."""
    if not _of_thread.hooks or modes.is_capturing():
        return
    if _of_thread.running:
        raise RuntimeError(
            "Creating a new autograd node from inside a node creation hook is not supported. Node "
            "creation hooks should only observe the node (e.g. record it, stash metadata, or "
            "register backward hooks on it); got a new node of type "
            f"{node.short_name()} while a hook was running."
        )
    _of_thread.running = True
    try:
        for hook in _of_thread.hooks:
            hook(node.shown())
    except Exception as error:
        error.of_hook = True  # type: ignore[attr-defined]  # dispatch hands it on as it is
        raise
    finally:
        _of_thread.running = False
