"""Changes of geometry in place: transpose_, t_, squeeze_, unsqueeze_, as_strided_."""

from __future__ import annotations

from typing import Any

from torchlike._core import modes
from torchlike._core.tape import check_in_place, check_inference, move_retained
from torchlike._extensions.tensor_of_parts import TensorOfParts
from torchlike._ops.shape.views.expanding import squeeze_overload
from torchlike.tensor import Tensor, add_method


def _become(t: Tensor, view_of_it: Tensor, of: str, name: str) -> Tensor:
    """Turn ``t`` into the view: transpose_, squeeze_, unsqueeze_, t_ change geometry, not memory.

    Other views of ``t`` keep theirs; inplace.relative_steps finds the way from one to the other,
    and by it their gradients go through ``t`` as it is now. From what as_strided_ leaves there is
    no such way: then they keep their history.
    """
    check_inference(t)
    check_in_place(t)
    modes.running_capture().field_write(t, f"{of}_()")
    if isinstance(t, TensorOfParts):  # no view, but another tensor
        t._storage.write(view_of_it._storage.cell)
        return t
    t._view = view_of_it._view
    t._storage.version += 1
    modes.epoch.advance()  # compiled programs look again how what they read lies
    node = view_of_it._node
    if node is not None and t._node is not None:
        move_retained(t._node, t._output_nr, node)
        node._name = name
        t._node, t._output_nr = node, 0
        if t._base is None:
            t._history += of != "as_strided"
        else:
            _let_others_rejoin(t, t._base)
    return t


def _let_others_rejoin(t: Tensor, base: Tensor) -> None:
    """Have the other views of a base find their history again, from the base as it is.

    PyTorch does so after each change of what the base's memory holds or how a view of it lies. It
    matters to a view by as_strided of another: until then its gradient comes to the base through
    that one, and so only to the elements that it has as well.
    """
    modes.running_capture().history_write(base)
    base._history += 1
    t._history = base._history


def _node_name(of: str, dim: Any = None, *more: Any) -> str:
    if of == "squeeze":
        return f"SqueezeBackward{3 + squeeze_overload(dim, *more)}"
    named = "transpose" if of in ("swapaxes", "swapdims") else of
    return "".join(part.capitalize() for part in named.split("_")) + "Backward1"


def _in_place_form(of: str) -> Any:
    def changed(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        # Without gradients the tensor stays what it was to autograd: only its geometry moves. A
        # recorded one is followed even under no_grad, or its gradient would have the old shape.
        previous = modes.current.grad_enabled
        modes.current.grad_enabled = previous or self._present_node() is not None
        try:
            view = getattr(self, of)(*args, **kwargs)
        finally:
            modes.current.grad_enabled = previous
        name = _node_name(of, *args, **kwargs) if of == "squeeze" else _node_name(of)
        return _become(self, view, of, name)

    changed.__name__ = f"{of}_"
    changed.__doc__ = (
        f"Apply ``{of}`` in place: this tensor's geometry changes, its memory does not."
    )
    return changed


for _name in ("transpose", "swapaxes", "swapdims", "t", "squeeze", "unsqueeze", "as_strided"):
    add_method(f"{_name}_", _in_place_form(_name))
