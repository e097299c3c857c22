"""Functions of each element: on the values, beside tensors that broadcast to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core.extension import name_of
from torchlike._dispatch import memory_order
from torchlike.nested._internal.base import OTHERWISE
from torchlike.nested._internal.nested_int import NestedInt
from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.nested._internal.rules.padding import from_padded
from torchlike.nested._internal.rules.table import inner_dim, raggedness_matches, rule, spread
from torchlike.tensor import Tensor

#: Ops whose results are laid out as those of pointwise ops are, without being any.
_OTHERS_TEXT = """
    flip sort argsort glu normalize local_response_norm mse_loss l1_loss smooth_l1_loss huber_loss
    binary_cross_entropy binary_cross_entropy_with_logits kl_div fake_quantize_per_tensor_affine"""
_OTHERS = frozenset(_OTHERS_TEXT.split())
#: Functions of each element that are made of several ops.
_COMPOSITES_TEXT = """
    where div div_ true_divide remainder remainder_ fmod fmod_ floor_divide floor_divide_
    masked_fill masked_fill_ softsign prelu relu relu6 hardtanh leaky_relu elu selu celu
    threshold silu mish hardsigmoid hardswish logsigmoid tanhshrink rrelu sigmoid tanh gelu
    softplus float double half bfloat16 int long short char byte bool cfloat cdouble type_as clip
    __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __rsub__ __rtruediv__ __pow__ __rpow__ __floordiv__
    __invert__ __lshift__ __rshift__
    __mod__ __rfloordiv__ __rmod__ __and__ __or__ __xor__ __rdiv__ pow pow_ conj polygamma fill_
    zero_ uniform_ normal_ exponential_ random_ bernoulli_ bernoulli zeros_like ones_like
    empty_like full_like rand_like randn_like randint_like square rsub clamp clamp_ logical_not
    detach_ frexp ldexp xlogy nan_to_num copy_ cpu cuda fill alpha_dropout feature_alpha_dropout
    isin round special_expit"""
_COMPOSITES = frozenset(_COMPOSITES_TEXT.split())


def is_pointwise(func: Any) -> bool:
    """Return whether a public function takes each element by itself."""
    spec = getattr(func, "spec", None)
    if spec is not None and spec.memory_order is memory_order.of_loop:
        return spec.name not in _OTHERS
    return bool({name_of(func), getattr(func, "__name__", "")} & _COMPOSITES)


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
