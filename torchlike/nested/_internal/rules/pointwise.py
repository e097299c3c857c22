"""Functions of each element: on the values, beside tensors that broadcast to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core.dispatch.registry import OPTIONS
from torchlike._runtime.function_objects import name_of
from torchlike.nested._internal.base import OTHERWISE
from torchlike.nested._internal.nested_int import NestedInt
from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.nested._internal.rules.padding import from_padded
from torchlike.nested._internal.rules.table import inner_dim, raggedness_matches, rule, spread
from torchlike.tensor import Tensor

#: Ops that move elements in a loop over them.
_MOVING = frozenset(("flip", "sort", "argsort", "fake_quantize_per_tensor_affine"))
#: Methods of each element.
_METHODS_TEXT = """
    float double half bfloat16 int long short char byte bool cfloat cdouble type_as cpu cuda
    __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __rsub__ __rtruediv__ __pow__ __rpow__ __floordiv__
    __invert__ __lshift__ __rshift__ __mod__ __rfloordiv__ __rmod__ __and__ __or__ __xor__ __rdiv__
    zero_ uniform_ normal_ exponential_ random_ detach_ copy_ special_expit"""
_METHODS = frozenset(_METHODS_TEXT.split())


def is_pointwise(func: Any) -> bool:
    """Return whether a public function takes each element by itself."""
    spec = getattr(func, "spec", None)
    names = {name_of(func), getattr(func, "__name__", "")} if spec is None else {spec.name}
    return not names.isdisjoint(_METHODS) or any(
        facts.get("elementwise") or facts.get("pointwise")
        for name in names - _MOVING
        for facts in (OPTIONS.get(name, _NO_FACTS), OPTIONS.get(name.rstrip("_"), _NO_FACTS))
    )


_NO_FACTS: dict[str, Any] = {}


def _mismatch(func: Any, first: Any, second: Any) -> RuntimeError:
    spec = getattr(func, "spec", None)
    name = name_of(func) if spec is None else spec.name
    both = [
        tuple(t.shape)
        if isinstance(first, NestedTensor) and isinstance(second, NestedTensor)
        else t.shape
        for t in (first, second)
    ]
    return RuntimeError(
        f"cannot call binary pointwise function {name}.Tensor with inputs of shapes {both[0]} and "
        f"{both[1]}"
    )


def fitted(input: NestedTensor, other: Tensor, refuse: Callable[[], Exception]) -> Tensor:
    """Return a tensor in the shape that broadcasts to another's values."""
    if isinstance(other, NestedTensor):
        if not raggedness_matches(input, other.shape):
            raise refuse()
        return other._held
    if other.dim() > input.dim():
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    squeezed: Any = other
    while squeezed.dim() and squeezed.shape[0] == 1:
        squeezed = squeezed.squeeze(0)
    if input.dim() >= squeezed.dim() + 2:
        return squeezed
    if input.dim() != other.dim() or input.shape[0] != other.shape[0]:
        raise refuse()
    at, dense = input._ragged_idx, other
    if dense.shape[at] == 1:  # one for each part
        rows: Any = dense.select(at, 0)  # type: ignore[attr-defined]
        return spread(input, rows).movedim(0, inner_dim(input, at))
    return from_padded(dense, input._offsets, at, input._held.shape[at - 1])


def pointwise(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply the function to the values. Raises RuntimeError for tensors that are divided in another
    way."""
    given = (*args, *kwargs.values())
    if kwargs.get("out") is not None:
        raise NotImplementedError(f"{name_of(func)}(out=) of nested tensors: use the result")
    for value in given:
        if isinstance(value, NestedInt):
            raise RuntimeError(f"NestedTensor {name_of(func)}.Tensor: invalid argument {value}")
    tensors = [t for t in given if isinstance(t, Tensor)]
    nested = next(t for t in tensors if isinstance(t, NestedTensor))

    def inside(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return fitted(nested, value, lambda: _mismatch(func, *(tensors * 2)[:2]))

    result = func(*[inside(a) for a in args], **{k: inside(v) for k, v in kwargs.items()})
    first = args[0] if args else None
    if isinstance(first, NestedTensor) and (result is first._held or kwargs.get("inplace")):
        return first  # what was written, or did not change
    if isinstance(result, tuple):
        return (
            type(result)(*[nested._with(r) for r in result])
            if hasattr(result, "_fields")
            else (tuple(nested._with(r) for r in result))
        )
    return nested._with(result)


@rule(OTHERWISE)
def _otherwise(func: Any) -> Any:
    return pointwise if is_pointwise(func) else None


@rule("apply_")
def _apply(func: Callable[..., Any], input: NestedTensor, function: Any) -> NestedTensor:
    func(input._held, function)
    return input
