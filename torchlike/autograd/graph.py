"""Looking at the graph: gradient edges, nodes, hooks on several tensors and on saved tensors."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torchlike._core import modes, tape
from torchlike._core.tape import GradientEdge, Node, RemovableHandle, saving
from torchlike.autograd.new_nodes import node_creation_hook
from torchlike.autograd.saved import choose_node, set_strict_in_place
from torchlike.tensor import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "node_creation_hook",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class saved_tensors_hooks:
    """``with saved_tensors_hooks(pack, unpack):`` how the ops inside keep what they save.

    ``pack(tensor)`` is called for each tensor that a node saves and may give anything;
    ``unpack(packed)`` is called each time that backward needs it, and gives a tensor of the same
    shape. Of nested pairs only the innermost is called. Neither is recorded.

    Differs from PyTorch: what is packed is what torchlike's nodes keep (``needs`` and
    ``from_output`` of an op; the operands by default). The tensor given to ``pack`` is a snapshot,
    never the very object, so a later write in place does not reach it. Of a
    jitted function called inside, what its program keeps for backward is packed, after the call;
    create_graph through such a call is refused.

    Raises:
      TypeError: a hook is no function, or ``unpack`` gives something other than a tensor.
      RuntimeError: inside ``disable_saved_tensors_hooks``; ``pack`` writes to its argument.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if saving.refusal is not None:
            raise RuntimeError(saving.refusal)
        for hook in (self.pack_hook, self.unpack_hook):
            if not callable(hook):
                raise TypeError(f"a saved tensor hook must be callable, not {type(hook).__name__}")
        saving.hooks = (*saving.hooks, (self.pack_hook, self.unpack_hook))
        choose_node()

    def __exit__(self, *exc: object) -> None:
        saving.hooks = saving.hooks[:-1]
        choose_node()


class save_on_cpu(saved_tensors_hooks):
    """``with save_on_cpu():`` saved tensors wait for backward in the host's memory.

    Differs from PyTorch: ``pin_memory`` changes nothing (JAX pins what it transfers).
    """

    def __init__(self, pin_memory: Any = False, device_type: str = "cuda") -> None:
        def pack_hook(t: Tensor) -> tuple[Any, Tensor]:
            return t.device, t.detach().cpu()

        def unpack_hook(packed: tuple[Any, Tensor]) -> Tensor:
            device, t = packed
            return t.to(device)

        super().__init__(pack_hook, unpack_hook)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Have ``saved_tensors_hooks`` raise RuntimeError with this message inside a `with` block.

    RuntimeError, too, when hooks are active already.
    """
    if saving.hooks:
        raise RuntimeError(error_message)
    previous, saving.refusal = saving.refusal, error_message
    try:
        yield
    finally:
        saving.refusal = previous


class _AllowMutation:
    """What ``with allow_mutation_on_saved_tensors() as ctx`` gives."""

    def clear(self) -> None:
        """Forget the copies made: torchlike needs none."""


class _MutationAllowed(threading.local):
    active: bool = False


_mutation_allowed = _MutationAllowed()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutation]:
    """Let tensors that backward needs be written to in place: the gradient is that of the values as
    they were.

    So it is always: nodes keep immutable arrays. The context only lifts strict mode
    (``autograd.set_strict_in_place``). RuntimeError when nested.

    Differs from PyTorch: backward may run after the context's end.
    """
    if _mutation_allowed.active:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    _mutation_allowed.active = True
    try:
        with set_strict_in_place(False):
            yield _AllowMutation()
    finally:
        _mutation_allowed.active = False


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge of a tensor that requires grad; raise RuntimeError for others."""
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
    found = GradientEdge(edge[0].shown(), edge[1])
    found.aval = (tensor.shape, tensor.dtype)
    return found


def increment_version(tensor: Any) -> None:
    """Say that a tensor (or each of several) was written to by other means.

    RuntimeError for anything else than tensors.
    """
    try:
        several = (tensor,) if isinstance(tensor, Tensor) else tuple(tensor)
    except TypeError:
        several = (tensor,)
    if not all(isinstance(t, Tensor) for t in several):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in several:
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
