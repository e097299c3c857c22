"""What ``torch._utils`` and ``torch._tensor`` have for unpicklers of others: tensors and parameters
made again of what a pickle holds of them. Those of `torch.load` itself are in ``rebuild.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._ops.creation.filled import empty
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor, set_state


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """Return a tensor that looks at a storage.

    Args:
        storage: a ``TypedStorage``, whose dtype the tensor has.
        storage_offset: its first element.
        size: its shape.
        stride: the steps between its elements.
        requires_grad: whether it requires grad.
        backward_hooks: hooks on its gradient; None, or empty.
        metadata: bits of a view, ``conj`` and ``neg``.
    """
    if backward_hooks:
        raise NotImplementedError(
            "torch._utils._rebuild_tensor_v2(backward_hooks=): hooks are not kept. Use instead: "
            "Tensor.register_hook"
        )
    made = empty((0,), dtype=storage.dtype).set_(
        storage, storage_offset, tuple(size), tuple(stride)
    )
    for bit, is_set in (metadata or {}).items():
        if is_set:
            made = made.conj() if bit == "conj" else made._neg_view()
    return made.requires_grad_(bool(requires_grad))


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """Return a parameter of a tensor."""
    return Parameter(data, bool(requires_grad))


def _rebuild_from_type_v2(
    func: Callable[..., Tensor], new_type: type[Tensor], args: Sequence[Any], state: Any
) -> Tensor:
    """Return what ``func(*args)`` makes, as an instance of a class and with its state."""
    made = func(*args)
    return set_state(made if type(made) is new_type else made.as_subclass(new_type), state)
