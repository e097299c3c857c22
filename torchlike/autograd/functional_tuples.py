"""Tuples of tensors that ``torch.autograd.functional`` takes and gives, by PyTorch's own names for
what makes and takes them apart: libraries of optimizers call these too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike.tensor import Tensor


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """Return whether a tuple was given, and the tensors; with names for errors left out, only the
    tuple, of whatever it is. TypeError for what is neither a tensor nor a tuple of them."""
    if arg_name is None and fn_name is None:
        return tuple(inp) if isinstance(inp, (tuple, list)) else (inp,)
    many = isinstance(inp, tuple)
    found = inp if many else (inp,)
    for i, t in enumerate(found):
        if not isinstance(t, Tensor):
            value = f"value at index {i}" if many else f"given {arg_name}"
            raise TypeError(
                f"The {arg_name} given to {fn_name} must be either a Tensor or a tuple of Tensors "
                f"but the {value} has type {type(t)}."
            )
    return many, found


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """Return ``res`` as ``_as_tuple`` was given it: ``to_unpack`` says whether that was a tuple; a
    pair speaks of the outer tuple and of those inside."""
    if not isinstance(to_unpack, tuple):
        return res if to_unpack else res[0]
    outer, inner = to_unpack
    found = res if inner else tuple(row[0] for row in res)
    return found if outer else found[0]


def _grad_preprocess(
    inputs: Sequence[Tensor], create_graph: bool, need_graph: bool
) -> tuple[Tensor, ...]:
    """Return fresh tensors with the inputs' values: part of the outer graph only with
    ``create_graph``, and where the input needs gradients; else leaves that require grad if
    ``need_graph``."""
    return tuple(
        (t.clone() if t.is_sparse else t.view_as(t))
        if create_graph and t.requires_grad
        else t.detach().requires_grad_(need_graph)
        for t in inputs
    )


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Return tensors, or tuples of them, without their history unless ``create_graph``."""
    if not isinstance(inputs[0], Tensor):
        return tuple(_grad_postprocess(row, create_graph) for row in inputs)
    return inputs if create_graph else tuple(t.detach() for t in inputs)


def _construct_standard_basis_for(
    tensors: Sequence[Tensor], tensor_numels: Sequence[int]
) -> tuple[Tensor, ...]:
    """Return the unit vectors of all tensors' elements together, N of them, as one (N, n) matrix
    for each tensor of n elements, in its dtype and on its device.

    Example:
      >>> of = torch.autograd.functional._construct_standard_basis_for
      >>> of((torch.zeros(1), torch.zeros(2)), (1, 2))
      (tensor([[1.],
              [0.],
              [0.]]), tensor([[0., 0.],
              [1., 0.],
              [0., 1.]]))
    """
    if len(tensors) != len(tensor_numels):
        raise AssertionError(
            f"Expected tensors and tensor_numels to have the same length, but got {len(tensors)} "
            f"and {len(tensor_numels)}"
        )
    if not tensors:
        raise AssertionError("Expected at least one tensor")
    found, above, total = [], 0, sum(tensor_numels)
    for t, n in zip(tensors, tensor_numels, strict=True):
        units = t.detach().new_zeros((total, n))
        units.diagonal(-above).fill_(1)
        found.append(units)
        above += n
    return tuple(found)
