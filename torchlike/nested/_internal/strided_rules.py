"""What public functions do with strided nested tensors: part by part, or on all elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core import errors
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._runtime.function_objects import name_of
from torchlike.nested._internal.base import OTHERWISE
from torchlike.nested._internal.rules.pointwise import is_pointwise
from torchlike.nested._internal.strided import StridedNestedTensor
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]


def _rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        StridedNestedTensor.rules.update(dict.fromkeys(names, function))
        return function

    return register


def _inner(input: StridedNestedTensor, dim: int, name: str) -> int:
    """Return a part's dimension for one of the tensor's. Raises RuntimeError for the batch's."""
    wrapped = errors.wrap_dim(dim, input.dim())
    if wrapped == 0:
        raise RuntimeError(f"{name}(): not supported for a nested tensor on dim=0")
    return wrapped - 1


def _mapped(input: StridedNestedTensor, function: Callable[[Any], Any]) -> StridedNestedTensor:
    return StridedNestedTensor.of([function(t) for t in input.tensors()])


def pointwise(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply the function to all elements. Raises RuntimeError for nested tensors of other sizes."""
    nested = next(t for t in (*args, *kwargs.values()) if isinstance(t, StridedNestedTensor))

    def inside(value: Any) -> Any:
        if isinstance(value, StridedNestedTensor):
            if value.sizes != nested.sizes:
                raise RuntimeError(
                    f"{name_of(func)} does not support broadcasting when given a NestedTensor"
                )
            return value._held
        if isinstance(value, Tensor) and value.numel() != 1:
            which = ("non-nested", "nested") if value is args[0] else ("nested", "non-nested")
            raise RuntimeError(
                f"Expected both self and other to be nested, but got a {which[0]} self and "
                f"{which[1]} other"
            )
        return value.reshape(()) if isinstance(value, Tensor) and value.dim() else value  # type: ignore[attr-defined]

    result = func(*[inside(a) for a in args], **{k: inside(v) for k, v in kwargs.items()})
    first = args[0] if args else None
    if isinstance(first, StridedNestedTensor) and (result is first._held or kwargs.get("inplace")):
        return first
    return nested._with(result)


@_rule(OTHERWISE)
def _otherwise(func: Any) -> Any:
    return pointwise if is_pointwise(func) else None


@_rule("dropout")
def dropout(
    func: Callable[..., Any], input: StridedNestedTensor, *args: Any, **kwargs: Any
) -> Tensor:
    """Drop elements in the order of PyTorch's memory: that of parts which were not transposed."""
    order = input._drawn_along
    if order is None:
        return pointwise(func, input, *args, **kwargs)
    back = tuple(order.index(d) for d in range(len(order)))
    before = _mapped(input, lambda t: t.permute(order))
    after: Any = _mapped(pointwise(func, before, *args, **kwargs), lambda t: t.permute(back))
    made: Any = input._with(after._held)
    if not kwargs.get("inplace"):
        return made
    input._held.copy_(made._held)  # type: ignore[attr-defined]
    return input


@_rule("unbind")
def unbind(func: Any, input: StridedNestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    if errors.wrap_dim(dim, input.dim()) != 0:
        raise RuntimeError(
            f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead."
        )
    return input.tensors()


@_rule("to_padded_tensor", "nested_to_padded_tensor")
def to_padded_tensor(
    func: Any, input: StridedNestedTensor, padding: float, output_size: Any = None, out: Any = None
) -> Tensor:
    """Pad each part behind it along every dimension. Raises RuntimeError for an ``output_size``
    that would cut one off."""
    if not input.sizes:
        raise RuntimeError(
            "to_padded_tensor: at least one constituent tensor should have non-zero numel"
        )
    least = [max(s[d] for s in input.sizes) for d in range(input.dim() - 1)]
    wanted = list(least if output_size is None else output_size[1:])
    if len(wanted) != len(least):
        raise RuntimeError(
            "Length of output_size does not match NestedTensor dims. Broadcasting is not supported."
        )
    if any(a < b for a, b in zip(wanted, least, strict=True)):
        raise RuntimeError(
            "Value in output_size is less than NestedTensor padded size. "
            "Truncation is not supported."
        )
    pad = NAMESPACES["nn.functional"]["pad"]

    def padded(t: Any) -> Any:
        widths = [
            n for a, b in zip(reversed(wanted), reversed(t.shape), strict=True) for n in (0, a - b)
        ]
        return pad(t, widths, value=padding)

    return _torch["stack"]([padded(t) for t in input.tensors()])


def _check_part(input: StridedNestedTensor, index: int) -> None:
    """Raise IndexError for a part that is not there."""
    n = len(input.sizes)
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {n}")


@_rule("__getitem__")
def getitem(func: Callable[..., Any], input: StridedNestedTensor, index: Any) -> Tensor:
    """Index a part, and within it; with ``:`` in front the index is taken in each part."""
    given = index if isinstance(index, tuple) else (index,)
    if given[0] is Ellipsis:  # before an index in each part
        given = ((slice(None),) * (input.dim() - len(given) + 1), *given[1:])
        given = (*given[0], *given[1:])
    first, *rest = given
    if isinstance(first, int):
        _check_part(input, first)
        part: Any = input.tensors()[first]
        return part[tuple(rest)] if rest else part
    if first == slice(None):
        return _mapped(input, lambda t: t[tuple(rest)]) if rest else input
    raise NotImplementedError("a nested tensor is indexed by a number or by a whole slice first")


@_rule("select")
def select(func: Callable[..., Any], input: StridedNestedTensor, dim: int, index: int) -> Tensor:
    if errors.wrap_dim(dim, input.dim()) == 0:
        _check_part(input, index)
        return input.tensors()[index]
    at = _inner(input, dim, "select")
    return _mapped(input, lambda t: func(t, at, index))


@_rule("softmax", "log_softmax", "sum", "mean", "cumsum")
def along(
    func: Callable[..., Any], input: StridedNestedTensor, dim: Any = None, *args: Any, **kwargs: Any
) -> Tensor:
    """Apply the function along a dimension of each part."""
    name = name_of(func)
    if dim is None or (isinstance(dim, (tuple, list)) and len(dim) != 1):
        raise NotImplementedError(f"{name}() of a nested tensor takes one dimension: use values()")
    at = _inner(input, dim if isinstance(dim, int) else dim[0], name)
    if name in ("sum", "mean") and not (args[0] if args else kwargs.get("keepdim")):
        raise RuntimeError(f"{name}() of a nested tensor: keepdim=True is required")
    return _mapped(input, lambda t: func(t, at, *args, **kwargs))


@_rule("layer_norm", "rms_norm")
def normalised(
    func: Callable[..., Any], input: StridedNestedTensor, *args: Any, **kwargs: Any
) -> Tensor:
    return _mapped(input, lambda t: func(t, *args, **kwargs))


@_rule("linear")
def linear(
    func: Callable[..., Any], input: StridedNestedTensor, weight: Any, bias: Any = None
) -> Tensor:
    """Apply a linear layer to the rows of all parts at once."""
    rows = func(input._held.view(-1, input.size(-1)), weight, bias)  # type: ignore[attr-defined]
    return StridedNestedTensor(rows.reshape(-1), [(*s[:-1], weight.shape[0]) for s in input.sizes])


@_rule("matmul", "bmm", "__matmul__")
def matmul(func: Any, input: Any, other: Any) -> Tensor:
    """Multiply the parts of two nested tensors. Raises RuntimeError for a dense one."""
    both = [isinstance(t, StridedNestedTensor) for t in (input, other)]
    if not all(both):
        which = ["nested" if nested else "non-nested" for nested in both]
        raise RuntimeError(
            f"Expected both to be nested, but got a {which[0]} self and {which[1]} other"
        )
    parts = zip(input.tensors(), other.tensors(), strict=True)
    return StridedNestedTensor.of([_torch["matmul"](a, b) for a, b in parts])


@_rule("transpose", "swapaxes", "swapdims")
def transpose(func: Callable[..., Any], input: StridedNestedTensor, dim0: int, dim1: int) -> Tensor:
    if 0 in (errors.wrap_dim(d, input.dim()) for d in (dim0, dim1)):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    a, b = (_inner(input, d, "transpose") for d in (dim0, dim1))
    swapped = list(range(input.dim() - 1))
    swapped[a], swapped[b] = swapped[b], swapped[a]
    before = input._drawn_along or range(len(swapped))
    moved = _mapped(input, lambda t: func(t, a, b))
    return moved._along(tuple(swapped[d] for d in before))


@_rule("chunk")
def chunk(func: Callable[..., Any], input: StridedNestedTensor, chunks: int, dim: int = 0) -> Any:
    """Split each part into chunks along a dimension."""
    at = _inner(input, dim, "chunk")
    parts = [func(t, chunks, at) for t in input.tensors()]
    return tuple(StridedNestedTensor.of(ts) for ts in zip(*parts, strict=True))


@_rule("view", "reshape")
def view(func: Callable[..., Any], input: StridedNestedTensor, *size: Any) -> Tensor:
    """View each part in a size; -1 keeps that of the part."""
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if not shape or shape[0] not in (-1, len(input.sizes)):
        raise RuntimeError(
            f"{name_of(func)}: For now nested reshape cannot change the size of the batch"
        )

    def changed(t: Any) -> Any:
        kept = [t.shape[d] if n == -1 and d < t.dim() else n for d, n in enumerate(shape[1:])]
        return t.reshape(kept)

    return _mapped(input, changed)


@_rule("reshape_as", "view_as")
def reshape_as(func: Callable[..., Any], input: StridedNestedTensor, other: Any) -> Tensor:
    """Reshape each part to the size of the other's."""
    if not isinstance(other, StridedNestedTensor):
        raise RuntimeError(f"{name_of(func)}: the other tensor must be nested too")
    pairs = zip(input.tensors(), other.sizes, strict=True)
    return StridedNestedTensor.of([t.reshape(size) for t, size in pairs])


@_rule("unsqueeze")
def unsqueeze(func: Callable[..., Any], input: StridedNestedTensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 into each part. Raises RuntimeError for one in front of the
    batch."""
    wrapped = errors.wrap_dim(dim, input.dim() + 1)
    if wrapped == 0:
        raise RuntimeError(
            "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the "
            "moment"
        )
    return _mapped(input, lambda t: func(t, wrapped - 1))


@_rule("squeeze")
def squeeze(func: Callable[..., Any], input: StridedNestedTensor, dim: Any = None) -> Tensor:
    """Remove a dimension of size 1 from each part. Raises RuntimeError for the batch's, and for
    none."""
    if dim is None:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeeze without the dim argument is not supported at "
            "the moment: name the dimension"
        )
    at = _inner(input, dim, "squeeze")
    return _mapped(input, lambda t: func(t, at)) if input.size(at + 1) == 1 else input


@_rule("split", "split_with_sizes")
def split(
    func: Callable[..., Any],
    input: StridedNestedTensor,
    sizes: Any = None,
    dim: int = 0,
    **kwargs: Any,
) -> Any:
    """Split each part along a dimension."""
    given = kwargs.get("split_size", kwargs.get("split_sizes", sizes))
    at = _inner(input, dim, name_of(func))
    pieces = [func(t, given, at) for t in input.tensors()]
    return tuple(StridedNestedTensor.of(ts) for ts in zip(*pieces, strict=True))


@_rule("embedding")
def embedding(
    func: Callable[..., Any], input: Any, weight: Any, *args: Any, **kwargs: Any
) -> Tensor:
    """Look up the indices of all parts at once."""
    rows = func(input._held, weight, *args, **kwargs)
    return StridedNestedTensor(rows.reshape(-1), [(*s, weight.shape[-1]) for s in input.sizes])


@_rule("is_same_size")
def is_same_size(func: Callable[..., Any], input: Any, other: Any) -> bool:
    """Return whether the parts have the same sizes."""
    return input.sizes == other.sizes


@_rule("is_pinned")
def is_pinned(func: Callable[..., Any], input: StridedNestedTensor, *args: Any) -> bool:
    return func(input._held, *args)


@_rule("clone", "contiguous")
def clone(
    func: Callable[..., Any], input: StridedNestedTensor, memory_format: Any = None, **_: Any
) -> Tensor:
    if name_of(func) != "contiguous":
        return input._with(func(input._held))
    if input._drawn_along is None:
        return input
    return StridedNestedTensor(input._held.clone(), input.sizes)  # type: ignore[attr-defined]


@_rule("cat")
def cat(func: Callable[..., Any], tensors: Any, dim: int = 0) -> Tensor:
    """Concatenate batches, or along a dimension of each part."""
    if not all(isinstance(t, StridedNestedTensor) for t in tensors):
        raise NotImplementedError("cat() of nested tensors: of nested tensors alone")
    if errors.wrap_dim(dim, tensors[0].dim()) == 0:
        return StridedNestedTensor.of([part for t in tensors for part in t.tensors()])
    at = _inner(tensors[0], dim, "cat")
    parts = zip(*(t.tensors() for t in tensors), strict=True)
    return StridedNestedTensor.of([func(list(row), at) for row in parts])


@_rule("narrow")
def narrow(
    func: Callable[..., Any], input: StridedNestedTensor, dim: int, start: int, length: int
) -> Tensor:
    if dim != 0:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    return StridedNestedTensor.of(input.tensors()[start : start + length])


@_rule("scaled_dot_product_attention")
def scaled_dot_product_attention(
    func: Callable[..., Any],
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Tensor:
    """Compute attention within each part."""
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
    parts = zip(*(t.tensors() for t in (query, key, value)), strict=True)
    return StridedNestedTensor.of([func(*p, None, *args, **kwargs) for p in parts])


@_rule("equal")
def equal(func: Callable[..., Any], input: Any, other: Any) -> bool:
    """Return whether sizes and elements are the same."""
    return input.sizes == other.sizes and func(input._held, other._held)
