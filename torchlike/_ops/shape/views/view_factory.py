"""What all view functions share: making the view of a parent, and reading their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._core import errors, modes
from torchlike._core.dispatch.schema import ints
from torchlike._core.dispatch.view_history import node_of_parts, node_of_view
from torchlike._core.storage import Unread
from torchlike._core.tape import gradient_edge
from torchlike._core.views import Select, Slice, Step, first_view, step
from torchlike.tensor import Tensor


def make_view(
    parent: Tensor,
    kind: Step,
    dynamic: tuple[int, ...],
    name: str,
    *,
    differentiable: Any = True,
    multiple: Any = False,
    recorded: Any = True,
) -> Tensor:
    """Return a view: a tensor on the parent's storage, one step further; ``name`` is its node's
    name.

    ``multiple``: it is one of several. Unless ``recorded``, the caller records it. A tensor without
    memory of its own gives what it has for the step (`TensorOfParts._stepped`).
    """
    chain = parent._view
    t = object.__new__(Tensor)  # as `Tensor._on` does, without a call
    t._storage = parent._storage
    try:
        if chain is None:
            t._view = first_view(parent._whole_geometry, kind, dynamic)
        else:
            t._view = chain.then(kind, dynamic)
    except errors.NoGeometryError:
        without_memory: Any = parent
        return without_memory._stepped(kind, dynamic)
    capture = modes.current.capture
    if capture is not None:
        capture.adopt_view(t)
    if parent._inference:
        t._inference = True
    if not differentiable:
        return t
    base = parent._base
    if base is None:
        base = parent
    t._base = base
    if base._history:
        t._history = base._history
    if not modes.current.grad_enabled:
        t._made_by = "inference" if modes.current.inference else "no_grad"
        return t
    edge = gradient_edge(parent)
    t._made_by = name if multiple else parent._made_by
    if recorded and (edge is not None or parent.requires_grad):
        t._node = node_of_view(edge, parent, (kind,), dynamic, name)
    return t


def make_window(parent: Tensor, kind: Step, dynamic: tuple[int, ...]) -> Tensor:
    """Return a view that is written through and dropped where nothing is recorded: it has no place
    in the history of its parent."""
    chain = parent._view
    t = object.__new__(Tensor)  # as `Tensor._on` does, without a call
    t._storage = parent._storage
    if chain is None:
        t._view = first_view(parent._whole_geometry, kind, dynamic)
    else:
        t._view = chain.then(kind, dynamic)
    if parent._inference:
        t._inference = True
    base = parent._base
    if parent._is_data or (base is not None and base._is_data):
        t._is_data = True
    return t


#: At most as many parts have one node, which compiles anew for each number of them.
_TOGETHER = 16


def make_parts(
    parent: Tensor, lengths: tuple[int, ...], dim: int, name: str, *, whole: Any = True
) -> tuple[Tensor, ...]:
    """Return views of consecutive parts of a dimension; without the dimension, unless ``whole``.

    As in PyTorch they share a node, so that backward puts their gradients side by side instead of
    adding up as many arrays of the whole size: of (8, 128, 384) in three, 200 µs for 1,100.
    """
    together = 1 < len(lengths) <= _TOGETHER
    parts, start = [], 0
    for length in lengths:
        kind = step(Slice, dim, length, 1) if whole else step(Select, dim)
        part = make_view(parent, kind, (start,), name, multiple=True, recorded=not together)
        parts.append(part)
        start += length
    if together and modes.current.grad_enabled and parent.requires_grad:
        node = node_of_parts(gradient_edge(parent), parent, lengths, dim, whole, name)
        for i, t in enumerate(parts):
            t._node, t._output_nr = node, i
    return tuple(parts)


def unread(t: Tensor) -> np.ndarray | None:
    """Return the buffer of a tensor on bytes with which nothing has been computed yet (`Unread`),
    which another storage on the same memory may view in another way; else None."""
    if type(t._storage) is not Unread or t._view is not None or t._requires_grad:
        return None
    return t._storage.host if modes.current.capture is None else None


def on_unread(host: np.ndarray) -> Tensor:
    """Return a tensor on an `Unread` buffer."""
    return Tensor._on(Unread(None, host))


def one_argument(args: Sequence[Any], named: dict[str, Any], function: str, name: str) -> Any:
    """Return the arguments of a function of ints, ``f(2, 3)``, or the value given by ``name``.
    TypeError in PyTorch's words where neither is given, or both."""
    if not args and name not in named:
        raise TypeError(f'{function}() missing 1 required positional arguments: "{name}"')
    for key in named:
        if key != name:
            raise TypeError(f"{function}() got an unexpected keyword argument '{key}'")
        if args:
            raise TypeError(f"{function}() got multiple values for argument '{key}'")
    return args or (named[name],)


def shape_arguments(args: Sequence[Any], function: str = "", name: str = "size") -> tuple[int, ...]:
    """Return the ints of ``f(2, 3)``, ``f((2, 3))`` and ``f(torch.Size([2, 3]))`` alike. TypeError,
    in PyTorch's words where the function is named, for what are no ints."""
    try:
        return _ints_of(args)
    except TypeError:
        if not function or modes.current.capture is not None:
            raise  # of a capture: a size that only the compiled program knows
        raise TypeError(_not_a_size(args, function, name)) from None


def _not_a_size(args: Sequence[Any], function: str, name: str) -> str:
    given = args[0] if len(args) == 1 else args
    said = f"{function}(): argument '{name}' (position 1) must be tuple of ints, "
    if isinstance(given, (tuple, list)):
        for at, n in enumerate(given):
            if isinstance(n, bool) or not hasattr(n, "__index__"):
                return f"{said}but found element of type {type(n).__name__} at pos {at}"
    return f"{said}not {type(given).__name__}"


def _ints_of(args: Sequence[Any]) -> tuple[int, ...]:
    if len(args) == 1 and not hasattr(args[0], "__index__"):
        return ints(args[0])
    if len(args) == 1 and isinstance(args[0], Tensor) and args[0].dim() == 1:
        return ints(args[0].tolist())
    return ints(args)
