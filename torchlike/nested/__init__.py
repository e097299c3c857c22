"""``torch.nested``: batches of tensors of different sizes.

Imports `_ops`, `_extensions` and below. Begin with ``_internal/nested_tensor.py``;
``_internal/rules/`` has what an op does with them, a family a file.

In the layout ``torch.jagged`` one dimension is ragged: values lie one after another, and offsets
say where each part begins. In the strided layout, the default, parts may differ in all sizes.

Differs from PyTorch: offsets are checked as a tensor is made of them; docs/nested.md has the rest.
"""

from __future__ import annotations

import warnings as _warnings
from collections.abc import Sequence
from typing import Any

from torchlike._core import dtypes as _dtypes
from torchlike._core import modes as _modes
from torchlike._core.dispatch.registry import NAMESPACES as _NAMESPACES
from torchlike._core.dispatch.registry import composite as _composite
from torchlike._core.layouts import jagged as _jagged
from torchlike._core.layouts import strided as _strided
from torchlike._ops.creation.from_data import tensor as _make_tensor
from torchlike.nested._internal import rules as _rules
from torchlike.nested._internal import strided_rules as _strided_rules
from torchlike.nested._internal.nested_tensor import NestedTensor as _NestedTensor
from torchlike.nested._internal.rules.shapes import joined as _joined
from torchlike.nested._internal.strided import StridedNestedTensor as _StridedNestedTensor
from torchlike.tensor import Tensor

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]

assert _rules
assert _strided_rules  # importing them fills the tables of rules
_torch = _NAMESPACES[""]
_ONE_RAGGED = (
    "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the "
    "jagged layout only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., "
    "D_N), with ragged * dim."
)
_PROTOTYPE = (
    "The PyTorch API of nested tensors is in prototype stage and will change in the near future. "
    "We recommend specifying layout=torch.jagged when constructing a nested tensor, as this layout "
    "receives active development, has better operator coverage, and works with torch.compile."
)
_warned: list[bool] = []


def _ragged(tensors: Sequence[Any], dtype: Any, device: Any) -> _NestedTensor:
    """Return a ragged tensor of these parts. Raises RuntimeError for none, and for those that do
    not fit."""
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for what, seen in (
        ("dtype", {t.dtype for t in tensors}),
        ("device", {t.device for t in tensors}),
        ("dim", {t.dim() for t in tensors}),
    ):
        if len(seen) > 1:
            on = "be on the same device" if what == "device" else f"have the same {what}"
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must {on}")
    if not tensors[0].dim():
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    sizes = [tuple(t.shape) for t in tensors]
    differing = [d for d, n in enumerate(sizes[0]) if any(s[d] != n for s in sizes)]
    if len(differing) > 1:
        raise RuntimeError(_ONE_RAGGED)
    made = _joined(tensors, 1 + (differing[0] if differing else 0))
    return made if dtype is None and device is None else made.to(device=device, dtype=dtype)


def _of_parts(tensors: Sequence[Any], dtype: Any, device: Any) -> _StridedNestedTensor:
    if not _warned:
        _warned.append(True)
        _warnings.warn(_PROTOTYPE, UserWarning, stacklevel=3)
    for what, seen in (("dtype", {t.dtype for t in tensors}), ("dim", {t.dim() for t in tensors})):
        if len(seen) > 1:
            if what == "dtype" and dtype is not None:
                continue
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same "
                + ("dimension." if what == "dim" else "dtype.")
            )
    given = [
        t if dtype is None and device is None else t.to(device=device, dtype=dtype) for t in tensors
    ]
    return _StridedNestedTensor.of(given)


def _unsupported(layout: Any, what: str = "tensors") -> RuntimeError:
    return RuntimeError(f"Specified layout is unsupported for nested {what}: {layout}")


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Return a nested tensor without history, made of tensors or of what ``torch.tensor`` takes.

    RuntimeError for parts that do not fit, and for another layout than strided and jagged.
    """
    if layout not in (None, _strided, _jagged):
        raise _unsupported(layout)
    parts = [t.detach() if isinstance(t, Tensor) else _make_tensor(t) for t in tensor_list]
    made: Any = (_ragged if layout is _jagged else _of_parts)(parts, dtype, device)
    return made.detach().requires_grad_(requires_grad)


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """Return a nested tensor through which gradients flow, made of a list of tensors or of the rows
    of one.

    TypeError for anything else; RuntimeError for parts that do not fit, for a vector, and for a
    nested tensor in the other layout.
    """
    is_list = isinstance(ts, (list, tuple)) and all(isinstance(t, Tensor) for t in ts)
    if not isinstance(ts, Tensor) and not is_list:
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / "
            "tuple of tensors "
        )
    wanted = _strided if layout is None else layout
    if isinstance(ts, Tensor):
        if ts.dim() < 2:
            raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
        if ts.is_nested:
            if ts.layout is not layout:
                raise RuntimeError(
                    "as_nested_tensor(): Converting between nested tensor layouts is not supported"
                )
            return ts.to(device=device, dtype=dtype)  # type: ignore[attr-defined]
        if wanted is _jagged:
            return _of_rows(ts, dtype, device)
        ts = ts.unbind()  # type: ignore[attr-defined]
    if wanted not in (_strided, _jagged):
        raise _unsupported(layout)
    return (_ragged if wanted is _jagged else _of_parts)(list(ts), dtype, device)


def _of_rows(ts: Any, dtype: Any, device: Any) -> _NestedTensor:
    n, length = ts.shape[:2]
    values = ts.contiguous().flatten(0, 1).to(device=device, dtype=dtype)
    offsets = _torch["arange"](n + 1) * length
    known = {"min_seqlen": length, "max_seqlen": length}
    return _NestedTensor(values, offsets, _metadata_cache=known)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """Return a ragged view of ``values``, whose dimension ``jagged_dim - 1`` (the first) is divided
    by ``offsets`` (n + 1,), or into parts of ``lengths`` (n,). With both there are holes.

    ``min_seqlen`` and ``max_seqlen`` are taken for the least and the greatest length. RuntimeError
    without offsets and lengths, and (eagerly) for offsets that do not fit.
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError(
                "nested_tensor_from_jagged(): At least one of offsets or lengths is required."
            )
        ends: Any = lengths.cumsum(0)  # type: ignore[attr-defined]
        offsets = _torch["cat"]([ends.new_zeros(1), ends])
        lengths = None
    at = 1 if jagged_dim is None else jagged_dim
    assert offsets is not None
    if not 1 <= at <= values.dim():
        raise RuntimeError(
            f"nested_tensor_from_jagged(): jagged_dim {at} is out of range for "
            f"values of {values.dim()} dimensions"
        )
    known = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    made = _NestedTensor(
        values.view_as(values),
        offsets,
        lengths=lengths,
        _ragged_idx=at,  # type: ignore[attr-defined]
        _metadata_cache={k: v for k, v in known.items() if v is not None},
    )
    if not _modes.is_capturing():
        _check_offsets(made)
    return made


def _check_offsets(made: _NestedTensor) -> None:
    """Raise RuntimeError for parts that are not within the values. The check reads the offsets."""
    starts = made._offsets._value("nested_tensor_from_jagged").astype("int64")
    if made._lengths is None:
        counts = starts[1:] - starts[:-1]
    else:
        counts = made._lengths._value("nested_tensor_from_jagged").astype("int64")
    total = made._held.shape[made._ragged_idx - 1]
    starts = starts[:-1]
    if counts.size and (counts.min() < 0 or starts.min() < 0 or (starts + counts).max() > total):
        raise RuntimeError(
            "nested_tensor_from_jagged(): offsets and lengths do not fit the values: they have to "
            f"be ascending within 0 and {total}"
        )


def narrow(tensor: Any, dim: int, start: Any, length: Any, layout: Any = _strided) -> Tensor:
    """Return the entries ``start`` to ``start + length`` of each row of a tensor: a ragged view of
    it, or (strided) a copy. Ragged, both may be tensors of one number for each row, and ``dim`` is
    1.

    RuntimeError for other arguments.
    """
    for name, given in (("start", start), ("length", length)):
        if not isinstance(given, (int, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    if layout is _strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(tensor.unbind(), layout=_strided).narrow(dim, start, length)  # type: ignore[attr-defined]
    if layout is not _jagged:
        raise _unsupported(layout, "narrow")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    if tensor.dim() < 2:
        raise AssertionError("tensor must at least be 2D for the nested narrow op to work")
    starts, lengths = (
        x if isinstance(x, Tensor) else _make_tensor([x], dtype=_dtypes.int64)
        for x in (start, length)
    )
    return _narrowed(tensor, starts, lengths)


def _narrowed(tensor: Any, starts: Any, lengths: Any) -> Tensor:
    n, width = tensor.shape[:2]
    if any(tuple(x.shape) not in ((), (1,), (n,)) for x in (starts, lengths)):
        raise RuntimeError(
            "When constructing a jagged nested tensor using narrow(), your start and length must "
            "be Tensors that broadcast to input.shape[0]"
        )
    starts, lengths = starts.expand(n), lengths.expand(n)
    first = starts + width * _torch["arange"](n)
    offsets = _torch["cat"]([first, (first[-1] + lengths[-1]).unsqueeze(0)])
    values = tensor.view(-1, *tensor.shape[2:])
    known = {}
    whole = False
    if not _modes.is_capturing():
        known = {"min_seqlen": int(lengths.min()), "max_seqlen": int(lengths.max())}
        whole = bool(((offsets[1:] - offsets[:-1]) == lengths).all())
    if whole:  # without holes
        begin, end = int(offsets[0]), int(offsets[-1])
        return _NestedTensor(values[begin:end], offsets - begin, _metadata_cache=known)
    return _NestedTensor(values, offsets, lengths=lengths, _metadata_cache=known)


def masked_select(tensor: Any, mask: Any) -> Tensor:
    """Return a ragged tensor of the entries that a mask selects in each row (the last dimension) of
    a dense one. Raises RuntimeError for tensors that are not strided."""
    for name, t in (("tensor, given", tensor), ("mask, given:", mask)):
        if t.layout is not _strided:
            raise RuntimeError(f"torch.nested.masked_select requires a strided {name} {t.layout}")
    counts = mask.expand(tensor.shape).sum(tensor.dim() - 1).view(-1)
    return nested_tensor_from_jagged(tensor.masked_select(mask), lengths=counts)


def to_padded_tensor(
    input: Any, padding: float, output_size: Any = None, out: Any = None
) -> Tensor:
    """Stack the parts of a nested tensor along a first dimension, with padding behind each.

    NotImplementedError for a dense tensor.
    """
    if out is not None:
        raise NotImplementedError("to_padded_tensor(out=): use the result")
    return input.to_padded_tensor(padding, output_size)


@_composite("to_padded_tensor", namespaces=())
def _to_padded_tensor(self: Any, padding: float, output_size: Any = None) -> Tensor:
    """Stack the parts of a nested tensor along a first dimension, with padding behind each. Raises
    NotImplementedError for a dense one."""
    raise NotImplementedError("to_padded_tensor() takes a nested tensor, and this one is dense")
