"""``torch.masked``: reductions and normalisations that leave out what a mask hides.

Every function takes ``mask``, a tensor that broadcasts to the input: where it is False the element
counts as the identity of the operation. Where nothing is left the result is that identity (0 for a
sum, -inf for a maximum, NaN for a mean).

IndexError for a mask of more dimensions than the input and for dimensions out of range;
RuntimeError for masks that do not broadcast and for repeated dimensions.

A MaskedTensor brings its own mask, to which ``mask`` is added.

Differs from PyTorch: ``mean``, ``var`` and ``std`` of a MaskedTensor count what its mask shows, and
a further ``mask`` hides too. Sparse tensors are NotImplementedError.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.layouts import strided
from torchlike._ops.creation.from_data import tensor as _make_tensor
from torchlike.masked.maskedtensor.core import MaskedTensor
from torchlike.tensor import Tensor

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

_F = NAMESPACES["nn.functional"]
_torch = NAMESPACES[""]
_INFINITY = float("inf")
_ALONG = ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod")
_SMALL = (dtypes.uint8, dtypes.bool, dtypes.int8, dtypes.int16, dtypes.int32)


# -- masks and identities --------------------------------------------------------------------------


def _lowest(input: Tensor) -> float:
    return -_INFINITY if input.dtype.category >= 2 else dtypes.iinfo(input.dtype).min


def _highest(input: Tensor) -> float:
    return _INFINITY if input.dtype.category >= 2 else dtypes.iinfo(input.dtype).max


def _fitted(input: Tensor, mask: Tensor) -> Tensor:
    """Return the mask as bools of the input's shape."""
    if mask.dim() > input.dim():
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the "
            "input)"
        )
    return mask.expand(input.shape).to(dtypes.bool)


def _input_mask(input: Tensor, *args: Any, mask: Tensor | None = None, **kwargs: Any) -> Tensor:
    """Return the mask as bools of the input's shape. Raises ValueError without one."""
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    return _fitted(input, mask)


def _output_mask(op: Callable[..., Any], input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return where the result of one of the functions below has something the mask shows: any of
    what was reduced, or the mask itself along a dimension. Raises ValueError for another
    function."""
    shown = _input_mask(input, mask=kwargs.get("mask"))
    name = getattr(op, "__name__", type(op).__name__)
    if name in _ALONG:
        return shown
    if name not in __all__:
        raise ValueError(f"_output_mask expected masked operation (got {name})")
    rest = args[1:] if name == "norm" else args
    dim = rest[0] if rest else kwargs.get("dim")
    for d in reversed(_dims(dim, input.dim())):
        shown = shown.any(d, keepdim=bool(kwargs.get("keepdim", False)))
    return shown


def _filled(input: Tensor, mask: Tensor | None, identity: Any) -> Tensor:
    """Return the input with the identity where the mask hides it."""
    if not isinstance(input, Tensor):
        raise NotImplementedError(
            f"torch.masked takes dense tensors, not {type(input).__name__}: call to_dense() first"
        )
    if mask is None:
        return input
    value = identity(input) if callable(identity) else identity
    filler = _make_tensor(value, dtype=input.dtype)
    return _torch["where"](_fitted(input, mask), input, filler)


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return dimensions as a sorted tuple; None and () stand for all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    wrapped = []
    for d in given:
        at = errors.wrap_dim(d, ndim)
        if at in wrapped:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        wrapped.append(at)
    return tuple(sorted(wrapped))


def _one(dim: Any, ndim: int) -> int:
    return _dims(dim, ndim)[0]


def _summed_dtype(input: Tensor, dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    return dtypes.int64 if input.dtype in _SMALL else input.dtype


# -- reductions ------------------------------------------------------------------------------------


def sum(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: Any = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Sum the elements that the mask shows; small integers give int64."""
    shown = _filled(input, mask, 0)
    return shown.sum(_dims(dim, input.dim()), bool(keepdim), dtype=_summed_dtype(input, dtype))


def prod(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: Any = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Multiply the elements that the mask shows; small integers give int64."""
    result = _filled(input, mask, 1).to(_summed_dtype(input, dtype))
    for d in reversed(_dims(dim, input.dim())):
        result = result.prod(d, keepdim=bool(keepdim))
    return result


def _extreme(name: str, identity: Callable[[Tensor], float]) -> Callable[..., Tensor]:
    def function(
        input: Tensor,
        dim: Any = None,
        *,
        keepdim: Any = False,
        dtype: Any = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        shown = _filled(input, mask, identity)
        found = _torch[name](shown, _dims(dim, input.dim()), bool(keepdim))
        return found.to(dtype or input.dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``torch.{name}`` of what the mask shows."
    return function


amax = _extreme("amax", _lowest)
amin = _extreme("amin", _highest)


def _place(name: str, identity: Callable[[Tensor], float]) -> Callable[..., Tensor]:
    def function(
        input: Tensor,
        dim: int | None = None,
        *,
        keepdim: Any = False,
        dtype: Any = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        found = _torch[name](_filled(input, mask, identity), dim, bool(keepdim))
        return found.to(dtype or input.dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"``torch.{name}`` of what the mask shows, as PyTorch gives it: in the input's dtype."
    )
    return function


argmax = _place("argmax", _lowest)
argmin = _place("argmin", _highest)


def _counts(input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Tensor:
    """Return how many elements the mask shows."""
    shown = input.new_ones(input.shape, dtype=dtypes.bool) if mask is None else mask
    return sum(shown.expand(input.shape).to(dtypes.bool), dim, keepdim=keepdim)


def mean(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: Any = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Average the elements that the mask shows. Raises ValueError unless the dtype is floating or
    complex."""
    kind = dtype or input.dtype
    if kind.category < 2:
        source = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point "
            f"or complex dtype. Got: {kind}"
        )
    shown = None if mask is None else _fitted(input, mask)
    total = sum(input, dim, keepdim=keepdim, dtype=kind, mask=shown)
    return total / _counts(input, dim, bool(keepdim), shown)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the (lower) median along a dimension of the elements that the mask shows; NaN is left
    out too.

    ValueError for an integer input of which a row is hidden altogether.
    """
    floating = input.dtype.category >= 2
    shown = _filled(input if floating else input.to(dtypes.float32), mask, float("nan"))
    found = shown.nanmedian(_one(dim, input.dim()), keepdim).values
    if floating:
        return found
    if bool(found.isnan().any()):
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return found.to(dtype or input.dtype)


def logsumexp(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return ``log(sum(exp))`` of the elements that the mask shows."""
    shown = _filled(input, mask, _lowest)
    return shown.logsumexp(_dims(dim, input.dim()), keepdim=keepdim).to(dtype or input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """Return ``log(exp(input) + exp(other))``, each with its own mask."""
    found = _torch["logaddexp"](
        _filled(input, input_mask, _lowest), _filled(other, other_mask, _lowest)
    )
    return found.to(dtype or input.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: Any = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute ``linalg.vector_norm`` of the elements that the mask shows."""
    shown = _filled(input, mask, _INFINITY if ord == -_INFINITY else 0)
    return NAMESPACES["linalg"]["vector_norm"](
        shown, ord, _dims(dim, input.dim()), bool(keepdim), dtype=dtype or input.dtype
    )


def _variance(
    input: Tensor,
    dim: Any,
    unbiased: bool | None,
    correction: Any,
    keepdim: Any,
    dtype: Any,
    mask: Tensor | None,
    root: bool,
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = float(correction if correction is not None else 1.0 if unbiased in (None, True) else 0.0)
    kind = dtype or (input.dtype if input.dtype.category >= 2 else dtypes.float32)
    wide = kind if kind.category >= 2 else dtypes.float32
    shown = None if mask is None else _fitted(input, mask)
    count = _counts(input, dim, True, shown)
    centre = sum(input, dim, keepdim=True, dtype=kind, mask=shown) / count
    away = input - centre
    total = sum(away * away.conj(), dim, keepdim=keepdim, dtype=wide, mask=shown)
    count = count.reshape(total.shape)
    if less != 0:
        count = (count.to(wide.to_real()) - less).clamp_min(0)
    found = (total / count).to(kind)
    return found.sqrt() if root else found


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: Any = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the variance of the elements that the mask shows. Raises AssertionError for both
    unbiased and correction."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask, False)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: Any = None,
    keepdim: Any = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the standard deviation of the elements that the mask shows. Raises AssertionError for
    both unbiased and correction."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask, True)


# -- along a dimension -----------------------------------------------------------------------------


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the running sum of the elements that the mask shows."""
    return _filled(input, mask, 0).cumsum(_one(dim, input.dim()), dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Return the running product of the elements that the mask shows."""
    return _filled(input, mask, 1).cumprod(_one(dim, input.dim()), dtype=dtype or input.dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute the softmax over the elements that the mask shows; 0 elsewhere, NaN where it shows
    none."""
    return _F["softmax"](
        _filled(input, mask, _lowest), _one(dim, input.dim()), dtype=dtype or input.dtype
    )


def log_softmax(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """Compute the logarithm of ``softmax``; -inf where the mask hides."""
    return _F["log_softmax"](
        _filled(input, mask, _lowest), _one(dim, input.dim()), dtype=dtype or input.dtype
    )


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Compute ``softmax`` of the negative."""
    return _F["softmin"](
        _filled(input, mask, _highest), _one(dim, input.dim()), dtype=dtype or input.dtype
    )


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Divide the elements that the mask shows by their norm (or by ``eps`` if that is larger)."""
    shown = _filled(input, mask, 0)
    size = norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    return shown / _torch["maximum"](size, size.new_full((), eps))


# -- masked tensors --------------------------------------------------------------------------------


def _taking_masked_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function so that it also takes masked tensors as its input."""

    @functools.wraps(function)
    def taking(input: Any, *args: Any, **kwargs: Any) -> Tensor:
        if isinstance(input, MaskedTensor):
            shown, more = input.get_mask(), kwargs.get("mask")
            kwargs["mask"] = shown if more is None else shown & _fitted(input.get_data(), more)
            input = input.get_data()
        return function(input, *args, **kwargs)

    return taking


for _name in __all__:
    if _name != "logaddexp":
        globals()[_name] = _taking_masked_tensors(globals()[_name])


def _where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """Return ``input`` where ``mask`` shows it, and ``fill_value``, a tensor of no dimension or of
    this size, elsewhere.

    NotImplementedError for a sparse mask.
    """
    if mask.layout is not strided:
        raise NotImplementedError("masked._ops._where: a sparse mask. Use mask.to_dense()")
    return _torch["where"](mask, input, fill_value)
