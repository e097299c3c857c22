"""The whole tensor again, with or without its history: detach, alias."""

from __future__ import annotations

from typing import Any

from torchlike._core import cells, modes, views
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import require_tensor
from torchlike._core.views import step
from torchlike._extensions import boxes
from torchlike._extensions.detached import DetachedStorage
from torchlike._ops.shape.views.view_factory import make_view
from torchlike.tensor import Tensor


def _is_apart(cell: Any) -> bool:
    """Return whether a transform must know a detached tensor apart: that of a box, and any where a
    tangent may be written later."""
    return type(cell) in boxes.BOXES or (
        any(level.made is not None for level in modes.current.levels)
        and not cells.is_stand_in(cell)
    )


@composite(differentiable=False, only_self=True)
def detach(input: Tensor) -> Tensor:
    """Return a tensor on the same memory without autograd history.

    Example:
      >>> x = torch.ones(2, requires_grad=True)
      >>> x.detach().requires_grad
      False
    """
    require_tensor(input, "detach")
    found = input._alias()
    if _is_apart(input._storage.cell):
        found._storage = DetachedStorage(input._storage)
        if input._view is not None:  # not the one that keeps what it read
            found._view = views.View(*input._view.__reduce__()[1])
    if input._inference:
        found._inference = True
    return found


@composite()
def detach_(input: Tensor) -> Tensor:
    """Drop the autograd history of this tensor. RuntimeError for views."""
    require_tensor(input, "detach_")
    cell = input._storage.cell if modes.current.levels else None
    if input._base is not None or type(cell) is boxes.Batched:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as a solution."
        )
    modes.running_capture().field_write(input, "detach_()")
    if type(cell) is boxes.Dual:
        input._storage.cell = cell.detached()
    if input.retains_grad:
        input._retained = True
    node = input._node
    if node is not None and node.pre_hooks and input._output_nr in node.pre_hooks:
        input._hooks = ({0: node.pre_hooks[input._output_nr]}, {})  # should it become a leaf
    # Views made before keep their history, so the count of histories stays.
    input._node, input._output_nr, input._requires_grad = None, 0, False
    return input


def alias(input: Tensor) -> Tensor:
    """Return a differentiable view of the whole tensor."""
    return make_view(input, step(views.Alias), (), "AliasBackward0")
