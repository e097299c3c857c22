"""Element-wise functions and norms that PyTorch makes of others."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.layouts import strided
from torchlike.ops._aten.composites.conversions import _converted
from torchlike.ops._aten.handlers import composite
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor


@composite("square")
def square(input: Tensor) -> Tensor:
    """Return ``input ** 2``."""
    return aten.pow.Tensor_Scalar(input, 2)


@composite("square_")
def square_(input: Tensor) -> Tensor:
    """Square ``input`` in place."""
    return aten.pow_.Scalar(input, 2)


@composite("positive")
def positive(input: Tensor) -> Tensor:
    """Return the tensor itself."""
    return input


@composite("max")
def max_(input: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return the maximum of all elements, along a dimension, or of two tensors."""
    return _extreme("max", input, args, kwargs)


@composite("min")
def min_(input: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return the minimum of all elements, along a dimension, or of two tensors."""
    return _extreme("min", input, args, kwargs)


def _extreme(name: str, input: Tensor, args: Any, kwargs: Any) -> Any:
    other = args[0] if args else kwargs.get("other")
    if isinstance(other, Tensor):
        return getattr(aten, f"{name}imum").default(input, other)
    packet = getattr(aten, name)
    dim = args[0] if args else kwargs.get("dim", kwargs.get("axis"))
    if dim is None:
        return packet.default(input)
    keepdim = args[1] if len(args) > 1 else kwargs.get("keepdim", False)
    return packet.dim(input, dim, *([True] if keepdim else []))


@composite("isfinite")
def isfinite(input: Tensor) -> Tensor:
    """Return whether each element is neither infinite nor NaN."""
    if not input.is_floating_point():
        return aten.ones_like.default(input, dtype=dtypes.bool, pin_memory=False)
    apart = aten.ne.Scalar(aten.abs.default(input), math.inf)
    return aten.mul.Tensor(aten.eq.Tensor(input, input), apart)


@composite("where")
def where(condition: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return elements of one tensor or of another, by a condition."""
    args = (*args, *kwargs.values())
    if not args:
        return aten.unbind.int(aten.nonzero.default(condition), 1)
    numbers = [a for a in args if not isinstance(a, Tensor)]
    floating = next((a.dtype for a in args if isinstance(a, Tensor)), None)
    if floating is None:
        floating = (
            dtypes.get_default_dtype()
            if any(isinstance(n, float) for n in numbers)
            else dtypes.int64
        )
    parts = []
    for a in args:
        if isinstance(a, Tensor):
            parts.append(a)
            continue
        kind = floating
        if isinstance(a, float) and not floating.is_floating_point:
            kind = dtypes.get_default_dtype()
        parts.append(
            aten.scalar_tensor.default(a, dtype=kind, layout=strided, device=condition.device)
        )
    return aten.where.self(condition, *parts)


@composite("float_power")
def float_power(input: Any, exponent: Any) -> Tensor:
    """Return a power in double precision."""
    base = input if isinstance(input, Tensor) else exponent
    kind = dtypes.complex128 if base.is_complex() else dtypes.float64
    if isinstance(input, Tensor):
        input = _converted(input, kind, None)
    if isinstance(exponent, Tensor):
        exponent = _converted(exponent, kind, None)
        if isinstance(input, Tensor):
            return aten.pow.Tensor_Tensor(input, exponent)
        return aten.pow.Scalar(float(input), exponent)
    return aten.pow.Tensor_Scalar(input, float(exponent))


def _spread(name: str) -> None:
    @composite(name)
    def spread(
        input: Tensor,
        dim: Any = None,
        unbiased: Any = True,
        keepdim: Any = False,
        *,
        correction: Any = None,
        axis: Any = None,
    ) -> Any:
        dim = axis if dim is None else dim
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        keywords: dict[str, Any] = {}
        if correction is not None:
            keywords["correction"] = correction
        elif dim is not None or not unbiased:
            keywords["correction"] = 1 if unbiased else 0
        if keepdim:
            keywords["keepdim"] = True
        dims = [] if dim is None else [[dim] if isinstance(dim, int) else list(dim)]
        return getattr(aten, name).correction(input, *dims, **keywords)


for _name in ("std", "var", "std_mean", "var_mean"):
    _spread(_name)


@composite("norm", "F.norm", "Tensor.norm")
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: Any = False, dtype: Any = None
) -> Tensor:
    """Return the norm of all elements, or along dimensions."""
    order = 2 if p in ("fro", None) else p
    dims = None if dim is None else ([dim] if isinstance(dim, int) else list(dim))
    if p == "nuc":
        return NAMESPACES["linalg"]["matrix_norm"](input, p, dims or (-2, -1), keepdim, dtype=dtype)
    return _vector_norm(input, order, dims, keepdim, dtype, p == "fro")


def _vector_norm(
    input: Tensor, order: Any, dims: Any, keepdim: Any, dtype: Any, plain: bool
) -> Tensor:
    positional: list[Any] = [order, dims, True] if keepdim else [order, dims]
    if not keepdim and dims is None:
        positional = [order]
        if plain and not isinstance(order, float):
            positional = []
    keywords = {} if dtype is None else {"dtype": dtype}
    return aten.linalg_vector_norm.default(input, *positional, **keywords)


@composite("linalg_norm")
def linalg_norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: Any = False, *, dtype: Any = None
) -> Tensor:
    """Return the norm of vectors or matrices."""
    dims = None if dim is None else ([dim] if isinstance(dim, int) else list(dim))
    if ord is not None and ((dims is None and A.dim() == 2) or (dims and len(dims) == 2)):
        return NAMESPACES["linalg"]["matrix_norm"](A, ord, dims or (-2, -1), keepdim, dtype=dtype)
    order = 2.0 if ord is None else ord
    positional = [order, dims, True] if keepdim else ([order, dims] if dims else [order])
    keywords = {} if dtype is None else {"dtype": dtype}
    return aten.linalg_vector_norm.default(A, *positional, **keywords)


@composite("argsort")
def argsort(input: Tensor, dim: int = -1, descending: Any = False, stable: Any = False) -> Tensor:
    """Return the indices that sort."""
    if stable:
        keywords = {"dim": dim, "descending": descending}
        given = {k: v for k, v in keywords.items() if v != {"dim": -1, "descending": False}[k]}
        return aten.sort.stable(input, stable=True, **given)[1]
    rest: list[Any] = [dim, True] if descending else ([dim] if dim != -1 else [])
    return aten.sort.default(input, *rest)[1]


@composite("softmax", "Tensor.softmax", "special_softmax")
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Return ``exp`` of each over the sum along a dimension."""
    x = input if dtype is None else _converted(input, dtypes.from_argument(dtype), None)
    return aten._softmax.default(x, dim, False)


@composite("log_softmax", "Tensor.log_softmax", "special_log_softmax")
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Return the logarithm of ``softmax``."""
    x = input if dtype is None else _converted(input, dtypes.from_argument(dtype), None)
    return aten._log_softmax.default(x, dim, False)


@composite("div", "Tensor.div", "true_divide")
def div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Tensor:
    """Return a quotient, rounded as ``rounding_mode`` says."""
    if out is not None:
        return aten.div.out(input, other, out=out)
    if rounding_mode is None:
        return aten.div.Tensor(input, other)
    scalar = not isinstance(other, Tensor)
    overload = aten.div.Tensor_mode
    return overload(
        input,
        float(other) if scalar and isinstance(other, float) else other,
        rounding_mode=rounding_mode,
    )


@composite("number_divided", "Tensor.__rtruediv__", "Tensor.__rdiv__")
def number_divided(input: Tensor, other: Any) -> Tensor:
    """Return ``other / input``."""
    return aten.mul.Tensor(aten.reciprocal.default(input), other)


@composite("isclose")
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: Any = False
) -> Tensor:
    """Return whether elements are equal but for tolerances."""
    close = aten.eq.Tensor(input, other)
    if equal_nan and input.is_floating_point():
        both = aten.bitwise_and.Tensor(aten.ne.Tensor(input, input), aten.ne.Tensor(other, other))
        close = aten.bitwise_or_.Tensor(close, both)
    if rtol == 0 and atol == 0:
        return close
    allowed = aten.add.Scalar(aten.abs.default(aten.mul.Scalar(other, rtol)), atol)
    apart = aten.abs.default(aten.sub.Tensor(input, other))
    finite = isfinite(apart)
    near = aten.bitwise_and_.Tensor(aten.le.Tensor(apart, allowed), finite)
    return aten.bitwise_or_.Tensor(close, near)
