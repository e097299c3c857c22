"""What public functions do with masked tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.layouts import sparse_coo, sparse_csr, strided
from torchlike._runtime.function_objects import name_of
from torchlike.masked import _ops
from torchlike.masked.maskedtensor.core import RULES, MaskedTensor, _masks_match
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]


_UNARY = """
    abs acos acosh angle asin asinh atan atanh bitwise_not ceil clamp clip conj_physical cos cosh
    deg2rad digamma erf erfc erfinv exp exp2 expm1 trunc floor frac lgamma log log10 log1p log2
    logit i0 isnan nan_to_num neg positive rad2deg reciprocal round rsqrt sigmoid sign sgn signbit
    sin sinc sinh sqrt square tan tanh relu logical_not isinf isfinite absolute fix negative
    __invert__ __neg__ __pos__"""
_BINARY = """
    add atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div
    floor_divide fmod logaddexp logaddexp2 mul nextafter remainder sub eq ne le ge gt lt maximum
    minimum fmax fmin pow true_divide number_divided rsub logical_and logical_or logical_xor
    __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __pow__ __rpow__ __rsub__ __rtruediv__ __floordiv__
    __rfloordiv__ __mod__ __rmod__ __and__ __or__ __xor__ divide multiply subtract"""


def _in_place_names() -> str:
    """Return the names that PyTorch has of these functions in place, and those of others that write
    into the data as well."""
    names = [f"{n}_" for n in f"{_UNARY} {_BINARY}".split() if not n.startswith("_")]
    return " ".join([n for n in names if hasattr(Tensor, n)]) + " zero_ fill_"


_IN_PLACE = _in_place_names()


def _rule(names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have ``function(func, *args, **kwargs)`` stand for the public functions of these names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names.split():
            if name in RULES:
                raise TypeError(f"there are two rules for {name}")
            RULES[name] = function
        return function

    return register


def _data(value: Any) -> Any:
    """Return the data of a masked tensor, also in lists; anything else as it is."""
    if isinstance(value, MaskedTensor):
        return value._held
    return type(value)(map(_data, value)) if type(value) in (list, tuple) else value


def _mask(value: Any) -> Any:
    if isinstance(value, MaskedTensor):
        return value._masked_mask
    return type(value)(map(_mask, value)) if type(value) in (list, tuple) else value


# -- one element at a time -------------------------------------------------------------------------


def _on_values(func: Callable[..., Any], data: Any, *args: Any) -> Any:
    """Apply a function to the elements that are there."""
    if data.layout is strided:
        return func(data, *args)
    rest = [a._held if getattr(a, "layout", strided) is not strided else a for a in args]
    return data._with(func(data._held, *rest))


@_rule(_UNARY)
def unary(func: Callable[..., Any], input: MaskedTensor, *args: Any, **kwargs: Any) -> Tensor:
    return input._with(_on_values(lambda d: func(d, *args, **kwargs), input._held))


@_rule(_BINARY)
def binary(func: Callable[..., Any], input: Any, other: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Apply a function to two masked tensors with one mask, or to one beside a tensor or number.
    Raises ValueError for masks that differ."""
    first, *more = (t for t in (input, other) if isinstance(t, MaskedTensor))
    if any(isinstance(a, Tensor) for a in args):
        raise TypeError(
            "MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs"
        )
    _check_masks(first, more)
    _check_places(_data(input), _data(other))
    found = _on_values(lambda a, b: func(a, b, *args, **kwargs), *_ordered(input, other))
    mask = first._masked_mask
    return MaskedTensor._build(found, mask.expand_as(found) if found.layout is strided else mask)


def _ordered(input: Any, other: Any) -> tuple[Any, Any]:
    return _data(input), _data(other)


def _check_masks(first: MaskedTensor, more: list[MaskedTensor]) -> None:
    for t in more:
        if t._masked_mask is not first._masked_mask and not _masks_match(t, first):
            raise ValueError(
                "Input masks must match. If you need support for this, please open "
                "an issue on Github."
            )


def _check_places(a: Any, b: Any) -> None:
    """Raise ValueError for sparse data at different places."""
    both = [t for t in (a, b) if isinstance(t, Tensor) and t.layout is not strided]
    if len(both) == 2 and both[0]._held.shape != both[1]._held.shape:  # type: ignore[attr-defined]
        name = str(both[0].layout).removeprefix("torch.")
        raise ValueError(
            f"{name} indices must match. If you need support for this, please open an "
            "issue on Github."
        )


@_rule(_IN_PLACE)
def in_place(func: Callable[..., Any], input: MaskedTensor, *args: Any, **kwargs: Any) -> Tensor:
    """Write into the data. Raises ValueError for masks that differ."""
    _check_masks(input, [a for a in args if isinstance(a, MaskedTensor)])
    func(input._held, *map(_data, args), **kwargs)
    return input


@_rule("copy_")
def copy_(func: Callable[..., Any], input: MaskedTensor, source: Any) -> Tensor:
    """Copy into the data. Raises ValueError for masks that differ."""
    if not _masks_match(input, source):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    func(input._held, _data(source))
    return input


# -- parts and views -------------------------------------------------------------------------------


@_rule("""
    select transpose split t expand view reshape cat stack unsqueeze unfold narrow chunk flatten
    permute squeeze unbind index_select movedim swapaxes flip roll __getitem__ unflatten
    split_with_sizes gather take_along_dim tile repeat broadcast_to expand_as view_as reshape_as
    concat ravel diagonal""")
def both(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply the function to the data and to the mask."""
    given, shown = [_data(a) for a in args], [_mask(a) for a in args]
    kwargs_of = [{k: f(v) for k, v in kwargs.items()} for f in (_data, _mask)]
    found, mask = func(*given, **kwargs_of[0]), func(*shown, **kwargs_of[1])
    if isinstance(found, (tuple, list)):
        return type(found)(MaskedTensor._build(d, m) for d, m in zip(found, mask, strict=True))
    return MaskedTensor._build(found, mask)


@_rule("clone contiguous")
def copied(func: Callable[..., Any], input: MaskedTensor, *args: Any, **kwargs: Any) -> Tensor:
    return both(func, input, *args, **kwargs)


@_rule("float double half int long short bool cfloat char byte bfloat16")
def cast(func: Callable[..., Any], input: MaskedTensor, *args: Any, **kwargs: Any) -> Tensor:
    """Convert the data; the result is the tensor itself where nothing changes."""
    found = func(input._held, *args, **kwargs)
    return input if found is input._held else input._with(found)


@_rule("ones_like zeros_like full_like empty_like rand_like randn_like")
def like(func: Callable[..., Any], input: MaskedTensor, *args: Any, **kwargs: Any) -> Tensor:
    return input._with(func(input._held, *args, **kwargs))


@_rule("where")
def where(func: Callable[..., Any], condition: Any, input: Any, other: Any) -> Tensor:
    """Choose elements with their masks; a plain tensor shows all."""
    data = [_data(t) for t in (input, other)]
    shown = [
        t._masked_mask
        if isinstance(t, MaskedTensor)
        else _torch["ones_like"](t, dtype=dtypes.bool)
        if isinstance(t, Tensor)
        else _torch["tensor"](True)
        for t in (input, other)
    ]
    chosen = _data(condition)
    return MaskedTensor._build(func(chosen, *data), func(chosen, *shown))


@_rule("masked_fill")
def masked_fill(func: Callable[..., Any], input: MaskedTensor, mask: Any, value: Any) -> Tensor:
    return input._with(func(input._held, _data(mask), value))


@_rule("to_dense")
def to_dense(func: Any, input: MaskedTensor) -> Tensor:
    if not input.is_sparse:
        return input
    return MaskedTensor._build(input._held.to_dense(), input._masked_mask.to_dense())  # type: ignore[attr-defined]


@_rule("to_sparse to_sparse_coo")
def to_sparse(func: Any, input: MaskedTensor) -> Tensor:
    """Convert the elements that the mask shows to coordinate form."""
    if input.layout is sparse_coo:
        return input
    mask = input._masked_mask.to_sparse().coalesce()
    return MaskedTensor._build(input._held.sparse_mask(mask), mask)  # type: ignore[attr-defined]


@_rule("to_sparse_csr")
def to_sparse_csr(func: Any, input: MaskedTensor) -> Tensor:
    """Convert the elements that the mask shows to CSR. Raises ValueError unless there are two
    dimensions."""
    if input.dim() != 2:
        raise ValueError(
            f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {input.shape}"
        )
    if input.layout is sparse_csr:
        return input
    mask = input._masked_mask.to_sparse_csr()
    return MaskedTensor._build(input._held.sparse_mask(mask), mask)  # type: ignore[attr-defined]


# -- reductions and kin ----------------------------------------------------------------------------


def _all(data: Any, dim: Any = None, *, keepdim: bool = False, mask: Any = None) -> Any:
    filled = data.masked_fill(~mask, True)
    return filled.all() if dim is None else filled.all(dim, keepdim=keepdim)


@_rule("sum mean amin amax argmin argmax prod all norm var std")
def reduce(
    func: Any, input: MaskedTensor, dim: Any = None, keepdim: bool = False, **options: Any
) -> Tensor:
    """Reduce the elements that the mask shows; the result shows where any is shown."""
    name = name_of(func)
    if input.is_sparse:
        return _of_sparse(func, input, dim)
    data, mask = input._held, input._masked_mask
    more = {k: v for k, v in options.items() if v is not None}
    if name == "norm":
        if dim not in (None, 2, 2.0, "fro"):
            raise NotImplementedError("norm(p) of a masked tensor: use torch.masked.norm")
        more = {k: v for k, v in more.items() if k != "p"}
        dim = more.pop("dim", None)
    reduction = _all if name == "all" else getattr(_ops, name)
    if dim is None:
        return MaskedTensor._build(reduction(data, mask=mask, **more), mask.any())
    along = (dim,) if isinstance(dim, int) else tuple(dim)
    found = reduction(data, dim=dim, keepdim=keepdim, mask=mask, **more)
    return MaskedTensor._build(found, mask.any(along, keepdim=keepdim))


def _of_sparse(func: Any, input: MaskedTensor, dim: Any) -> Tensor:
    """Reduce all values of a sparse masked tensor."""
    if dim is not None:
        raise NotImplementedError(
            f"{name_of(func)}(dim=) of a sparse masked tensor: to_dense() first"
        )
    values: Any = input._held
    shown: Any = input._masked_mask
    whole = MaskedTensor._build(values._held, shown._held)
    return reduce(func, whole)


@_rule("softmax log_softmax")
def softmax(func: Any, input: MaskedTensor, dim: Any = None, *args: Any, **kwargs: Any) -> Tensor:
    """Apply the function over the elements that the mask shows; 0 where it hides."""
    along = getattr(_ops, name_of(func))
    return input._with(along(input._held, dim, mask=input._masked_mask))


@_rule("cumsum cumprod")
def running(func: Any, input: MaskedTensor, dim: int, *, dtype: Any = None) -> Tensor:
    along = getattr(_ops, name_of(func))
    return input._with(along(input._held, dim, dtype=dtype, mask=input._masked_mask))


@_rule("is_same_size")
def is_same_size(func: Any, input: Any, other: Any) -> bool:
    """Return whether both have the same size."""
    return tuple(input.shape) == tuple(other.shape)


@_rule("register_hook")
def register_hook(func: Callable[..., Any], input: MaskedTensor, hook: Any) -> Any:
    """Register a hook that sees a gradient with the tensor's mask."""

    def on_data(gradient: Tensor) -> Any:
        return _data(hook(input._with(gradient)))

    return func(input._held, on_data)


@_rule("retain_grad")
def retain_grad(func: Callable[..., Any], input: MaskedTensor) -> None:
    """Apply ``retain_grad`` to the data, which keeps the gradient."""
    func(input._held)
