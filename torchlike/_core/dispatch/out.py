"""``out=``: PyTorch's rules for results that are written into tensors the caller gives."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from torchlike._core import casts, dtypes, errors, modes, overrides, views
from torchlike._core.layouts import strided
from torchlike._core.tape import check_inference
from torchlike._runtime.first_calls.program import host
from torchlike._runtime.provided import Provided
from torchlike.tensor import Tensor

if TYPE_CHECKING:
    from torchlike._core.cells import Result
    from torchlike._core.dispatch.spec import CastsOut

    #: What may be cast: "any" to every dtype.
    Cast = CastsOut | Literal["any"]

#: ``before_out(op, targets, operands)`` raises, or returns, before the op is computed.
before_out = Provided("looks at the tensors of ``out=`` first", lambda op, targets, given: None)
#: ``into_out(op, target, value)`` is what is written into a tensor of ``out=``, or raises.
into_out = Provided("gives what goes into a tensor of ``out=``", lambda op, target, value: value)


def check_targets(out: Any, name: str) -> tuple[Tensor, ...]:
    """Return the tensors of ``out=`` as a tuple; raise TypeError when one is no tensor."""
    targets = out if isinstance(out, (tuple, list)) else (out,)
    for t in targets:
        if not isinstance(t, Tensor):
            said = f"{name}(): argument 'out' must be Tensor, not {type(t).__name__}"
            raise overrides.no_tensor(t, said)
    return tuple(targets)


def check_overlap(
    out: object,
    operands: Sequence[object],
    name: str,
    reorders: bool = False,
    rewrites: bool = False,
) -> None:
    """Raise RuntimeError where ``out`` has one element twice, or memory that the op still has to
    read: any of an operand's where it ``reorders``, the first's apart where it ``rewrites``
    that."""
    targets = check_targets(out, name)
    before_out.function(name, targets, operands)
    if modes.current.levels:
        modes.current.levels[-1].check_out(targets, operands, name)
    for target in targets:
        check_inference(target)
        if target.layout is not strided:
            continue  # no memory that could overlap
        views.check_writable(target._geometry)
        for k, o in enumerate(operands):
            whole = reorders and not (rewrites and k == 0)
            for t in o if isinstance(o, (tuple, list)) else (o,):
                if t is target and whole:
                    raise RuntimeError(errors.PARTIAL_OVERLAP)
                if isinstance(t, Tensor) and t._storage is target._storage:
                    views.check_partial_overlap(
                        target._geometry,
                        t._geometry,
                        whole=whole,
                        widths=(target.itemsize, t.itemsize),
                    )


#: How kernels that are older than the rest say that ``out=`` is not of the result's dtype, by name:
#: of values, and of indices beside them.
_refusals: dict[str, tuple[str, str]] = {}


def declare_refusal(name: str, words: str | tuple[str, str] | None) -> None:
    """Note the words in an op's definition for an ``out=`` of another dtype."""
    if words is not None:
        _refusals[name] = (words, words) if isinstance(words, str) else words


def _unlike(name: str, wanted: dtypes.dtype, found: dtypes.dtype) -> str:
    """Return the message for an ``out=`` of another dtype than the one wanted."""
    words = _refusals.get(name)
    if words is not None:
        of_indices = wanted is dtypes.int64
        which = "indices" if of_indices else "values"
        kinds = (dtypes.scalar_type(d) for d in (wanted, found))
        told = dict(zip(("wanted", "found"), kinds, strict=True))
        return words[of_indices].format(name=name, which=which, **told)
    return (
        f"Expected out tensor to have dtype {dtypes.c_name(wanted)}, but got "
        f"{dtypes.c_name(found)} instead"
    )


def store(target: Tensor, value: Tensor, name: str, cast: Cast, resizes: bool = False) -> None:
    """Write one result into its ``out=`` tensor, resized to its shape.

    ``cast`` says whether the result may be cast (PyTorch's elementwise kernels and reductions: to
    any dtype of at least its category; "truth" to bool or uint8, whichever it is) or the dtype must
    be its own. RuntimeError where that is not so, or where gradients would be needed; UserWarning
    when elements are thrown away, unless the function ``resizes`` what it is given.
    """
    if modes.current.grad_enabled and (target.requires_grad or value.requires_grad):
        raise RuntimeError(errors.OUT_RECORDED.format(name))
    value = into_out.function(name, target, value)
    if target.layout is not value.layout:
        raise RuntimeError(
            f"{name}(): expected a result tensor of layout {value.layout}, got {target.layout}"
        )
    if not host().is_default and target.device != value.device:
        raise RuntimeError(errors.several_devices((value.device, target.device)))
    if target.is_meta is not value.is_meta:  # the values would be lost
        raise RuntimeError(
            f"Attempting to copy from device {value.device} to device {target.device}, but "
            "cross-device copies are not allowed!"
        )
    if target.dtype is not value.dtype:
        if cast == "truth":
            if target.dtype.name not in ("bool", "uint8"):
                raise RuntimeError(
                    f"{name} only supports bool tensor for result, got: "
                    f"{dtypes.scalar_type(target.dtype)}"
                )
        elif not cast or cast == "dtype":
            raise RuntimeError(_unlike(name, value.dtype, target.dtype))
        if cast == "kernel" and value.dtype.category == 2 != target.dtype.category:
            raise NotImplementedError(
                f"\"{name}_cpu\" not implemented for '{dtypes.scalar_type(target.dtype)}'"
            )
        if cast == "kind" and value.dtype.is_complex is not target.dtype.is_complex:
            kind = "complex" if value.dtype.is_complex else "floating point"
            raise RuntimeError(
                f"{name} expects a {kind} output tensor, but got {dtypes.scalar_type(target.dtype)}"
            )
        if cast not in ("any", "truth") and not dtypes.can_cast(value.dtype, target.dtype):
            if name in ("cat", "stack"):
                raise TypeError(
                    "torch.cat(): input types can't be cast to the desired output type "
                    f"{dtypes.scalar_type(target.dtype)}"
                )
            kinds = map(dtypes.scalar_type, (value.dtype, target.dtype))
            raise RuntimeError(errors.UNCASTABLE.format(*kinds))
    if target.layout is not strided:
        target.data = value.to(target.dtype)
        return
    if target.shape != value.shape:
        if target.numel() and not resizes:
            warnings.warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(target.shape)}, which does not match the required output shape "
                f"{list(value.shape)}. This behavior is deprecated, and in a future PyTorch "
                "release outputs will not be resized unless they have zero elements. You can "
                "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
                "t.resize_(0).",
                UserWarning,
                stacklevel=4,
            )
        target.resize_(value.shape)
        if target._view is None and value._view is None and target._storage.host is None:
            # A whole tensor after resize_ has its memory to itself: laid out as the op's result.
            target._storage.strides = value._storage.strides
    same = value.dtype is target.dtype
    target._write(value._value_now() if same else casts.convert(value._read(), target.dtype.numpy))


def store_all(
    out: object, results: Result | list[Tensor], name: str, cast: Cast, resizes: bool = False
) -> None:
    """Store a result, or a tuple of them, into ``out`` as ``store`` does."""
    targets = check_targets(out, name)
    values = results if isinstance(results, (tuple, list)) else (results,)
    if len(targets) != len(values):
        raise TypeError(f"expected tuple of {len(values)} elements but got {len(targets)}")
    for target, value in zip(targets, values, strict=True):
        store(target, value, name, cast, resizes)
