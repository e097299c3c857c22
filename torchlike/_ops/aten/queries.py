"""Questions about tensors that have a Python answer: equal, allclose, is_tensor, numel, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import common_dtype, require_tensor
from torchlike._core.size import SizeSymbol
from torchlike._extensions.overrides import protocol
from torchlike._ops.creation.from_data import tensor
from torchlike._ops.elementwise.comparison import isclose
from torchlike.tensor import Tensor

#: What `result_type` takes.
_OPERANDS = (Tensor, bool, int, float, complex, np.generic, SizeSymbol)


@composite(differentiable=False, tags="data_dependent_output")
def equal(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same size and elements, as a Python bool."""
    require_tensor(input, "equal")
    require_tensor(other, "equal", "other", 2)
    return input.shape == other.shape and bool(input.detach().eq(other.detach()).all())


@composite(differentiable=False, tags="data_dependent_output")
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: Any = False
) -> bool:
    """Return whether ``|input - other| <= atol + rtol * |other|`` everywhere, as a Python bool."""
    require_tensor(input, "allclose")
    require_tensor(other, "allclose", "other", 2)
    return bool(isclose(input.detach(), other.detach(), rtol, atol, equal_nan).all())


@composite(method=False, overridable=False)
def is_tensor(obj: Any) -> bool:
    """Return whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


def _from_method(name: str) -> None:
    def function(input: Tensor) -> Any:
        return getattr(require_tensor(input, name), name)()

    function.__doc__ = f"Return ``input.{name}()``."
    composite(name, method=False)(function)


for _name in ("numel", "is_floating_point", "is_complex", "is_signed", "is_inference"):
    _from_method(_name)


@composite()
def is_nonzero(input: Tensor) -> bool:
    """Return whether a tensor of one element is not zero. RuntimeError for any other size."""
    return bool(require_tensor(input, "is_nonzero"))


@composite(differentiable=False)
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same size."""
    require_tensor(input, "is_same_size")
    require_tensor(other, "is_same_size", "other", 2)
    return input.shape == other.shape


@composite(method=False, differentiable=False)
def _shape_as_tensor(input: Tensor) -> Tensor:
    """Return the sizes of a tensor's dimensions as integers, (ndim,)."""
    require_tensor(input, "_shape_as_tensor")
    return tensor(list(input.shape), dtype=dtypes.int64)


@composite()
def is_conj(input: Tensor) -> bool:
    """Return whether a tensor is a conjugated view (conjugation not carried out in memory)."""
    view = require_tensor(input, "is_conj")._view
    return view is not None and view.is_conjugated


@composite()
def is_neg(input: Tensor) -> bool:
    """Return whether a tensor is a negated view (``x.conj().imag``)."""
    view = require_tensor(input, "is_neg")._view
    return view is not None and view.is_negated


@composite(
    method=False,
    other_names={
        "tensor": "tensor1",
        "scalar1": "tensor1",
        "other": "tensor2",
        "scalar": "tensor2",
        "scalar2": "tensor2",
    },
)
def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """Return the dtype of the result of an operation on two tensors or numbers.

    TypeError for anything else.
    """
    if not (isinstance(tensor1, _OPERANDS) and isinstance(tensor2, _OPERANDS)):
        given = ", ".join(type(x).__name__ for x in (tensor1, tensor2))
        raise TypeError(
            "result_type() received an invalid combination of arguments - got "
            f"({given}), but expected tensors and numbers"
        )
    return common_dtype([x.item() if isinstance(x, np.generic) else x for x in (tensor1, tensor2)])


@composite(method=False)
def can_cast(from_: Any, to: Any) -> bool:
    """Return whether a result of dtype ``from_`` may be stored in a tensor of dtype ``to``.

    TypeError for what is no dtype.
    """
    for position, (name, given) in enumerate((("from_", from_), ("to", to)), 1):
        if not dtypes.is_argument(given):
            raise TypeError(
                f"can_cast(): argument '{name}' (position {position}) must be torch.dtype, not "
                f"{type(given).__name__}"
            )
    return dtypes.can_cast(from_, to)


@composite(method=False)
def _has_compatible_shallow_copy_type(input: Tensor, other: Tensor) -> bool:
    """Return whether ``input.data = other`` keeps the kind of tensor: its layout, type of device,
    and having memory of its own or none."""
    kinds = {(t.layout, t.device.type, protocol.dispatches(type(t))) for t in (input, other)}
    return len(kinds) == 1


@composite()
def _is_all_true(input: Tensor) -> Tensor:
    """Return ``all()`` of a bool tensor. RuntimeError for another dtype."""
    return _of_bool(input, "_is_all_true").all()


@composite()
def _is_any_true(input: Tensor) -> Tensor:
    """Return ``any()`` of a bool tensor. RuntimeError for another dtype."""
    return _of_bool(input, "_is_any_true").any()


def _of_bool(input: Tensor, name: str) -> Tensor:
    if input.dtype is not dtypes.bool:
        raise RuntimeError(f"{name}() takes a tensor of torch.bool, not of {input.dtype}")
    return input


@composite()
def _is_zerotensor(input: Tensor) -> bool:
    """Return False: no tensor is zero without memory."""
    return False
