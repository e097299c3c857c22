"""The matmul family and linear layers: products that XLA lowers well."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import (
    ComputedFactor,
    Factor,
    Input,
    Inputs,
    OptInput,
    Static,
    Str,
    require_tensor,
    require_tensors,
)
from torchlike._core.dtypes import c_name
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.linalg.einstein import (
    NO_OPERANDS,
    check_einsum,
    from_lists,
    of_product,
    permuted,
)
from torchlike._ops.linalg.products import accumulated, times_transposed
from torchlike._ops.promotion import result_dtype, scalar_like
from torchlike._runtime import targets
from torchlike.tensor import Tensor


def _same_dtype(x: Any, y: Any) -> None:
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {c_name(x.dtype)} != "
            f"{c_name(y.dtype)}"
        )


def _check_dtypes_of_bmm(x: Any, y: Any) -> None:
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type_of(x)} but found {scalar_type_of(y)}"
        )


def _check_dtypes_of_matmul(x: Any, y: Any) -> None:
    """Raise RuntimeError, in the words of the product that PyTorch makes of it, for two dtypes."""
    if x.ndim == 1 == y.ndim:
        _check_dtypes_of_dot(x, y)
    elif y.ndim == 1:
        _check_dtypes_of_addmv(y, x, y)
    elif y.ndim == 2:
        _same_dtype(x, y)
    else:
        _check_dtypes_of_bmm(x, y)


def _check_dtypes_of_addmv(input: Any, mat: Any, vec: Any) -> None:
    kinds = [scalar_type_of(x) for x in (input, mat, vec)]
    if len(set(kinds)) > 1:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {kinds[0]}, {kinds[1]}, and "
            f"{kinds[2]}"
        )


def _check_dtypes_of_addmm(input: Any, mat1: Any, mat2: Any) -> None:
    for name, x in (("self", input), ("mat1", mat1)):
        if x.dtype != mat2.dtype:
            raise RuntimeError(
                f"{name} and mat2 must have the same dtype, but got {scalar_type_of(x)} and "
                f"{scalar_type_of(mat2)}"
            )


def _check_dtypes_of_dot(x: Any, y: Any) -> None:
    if x.dtype != y.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{scalar_type_of(x)} and {scalar_type_of(y)}"
        )


def _check_vectors(x: Any, y: Any) -> None:
    """Raise RuntimeError unless these are two vectors of one dtype and length."""
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors")
    _check_dtypes_of_dot(x, y)
    _check_inner(x, y)


def _check_factors(kind: Any, **factors: Any) -> None:
    """Refuse, with RuntimeError, a fraction to multiply integers by, which they cannot hold, or a
    bool to multiply others than bools by."""
    for name, factor in factors.items():
        own = jnp.result_type(factor).kind
        if kind.kind in "iub" and own == "f":
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
        if kind.kind != "b" and own == "b":
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")


def _equal_dtypes(x: Any, y: Any) -> None:
    if x.dtype != y.dtype:
        raise RuntimeError("both inputs should have same dtype")


def _check_inner(x: Any, y: Any) -> None:
    """Refuse, with a RuntimeError in PyTorch's words, inner sizes that differ."""
    inner = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] == inner:
        return
    if x.ndim == 1 and y.ndim == 1:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{x.shape[0]}] and src [{inner}] to have "
            f"the same number of elements, but got {x.shape[0]} and {inner} elements respectively"
        )
    if y.ndim == 1:
        raise RuntimeError(
            f"size mismatch, got input ({_rows(x)}), mat ({_rows(x)}x{x.shape[-1]}), vec ({inner})"
        )
    raise RuntimeError(
        f"mat1 and mat2 shapes cannot be multiplied ({_rows(x)}x{x.shape[-1]} and "
        f"{inner}x{y.shape[-1]})"
    )


def _rows(x: Any) -> int:
    return math.prod(x.shape[:-1]) if x.ndim > 1 else 1


def _flat(x: Any) -> Any:
    """Return the left side of a product with a matrix, with two dimensions where XLA's CPU backend
    computes it, whose weight gradient of a 3-D product is 1.4 to 3.2 times slower. Elsewhere as it
    is: a TPU fuses a product with the addition to a residual stream, but not across a reshape, and
    then kept each addend in float32 for backward (20 MB more a layer of width 768 with 4,096
    tokens)."""
    return x.reshape(_rows(x), x.shape[-1]) if targets.is_cpu() else x


_PRODUCT = {"input": ["other"], "other": ["input"]}


@op(needs=_PRODUCT, saved_names={"other": "mat2"}, autocast="low")
def matmul(input: Input, other: Input):
    """Return the matrix product; batches broadcast, vectors are promoted to matrices and back.

    (…, n, k) and (…, k, m) give (…, n, m); two vectors give a number. RuntimeError for sizes that
    do not fit, numbers without dimensions, and two dtypes.

    Example:
      >>> torch.matmul(torch.ones(5, 2, 3), torch.ones(3, 4)).shape
      torch.Size([5, 2, 4])
    """
    if not input.ndim or not other.ndim:
        raise RuntimeError(
            "both arguments to matmul need to be at least 1D, but they are "
            f"{input.ndim}D and {other.ndim}D"
        )
    _check_dtypes_of_matmul(input, other)
    _check_inner(input, other)
    if input.ndim > 2 and other.ndim == 2:
        flat = _flat(input) @ other
        return flat.reshape(*input.shape[:-1], other.shape[-1])
    return jnp.matmul(input, other)


@op(
    needs={"input": ["mat2"], "mat2": ["input"]},
    autocast="low",
    flops=lambda a, b, *rest, **_: 2 * a[0] * a[1] * b[1],
)
def mm(input: Input, mat2: Input):
    """Return the product of two matrices.

    (n, k) and (k, m) give (n, m). RuntimeError for other dimensions, sizes or two dtypes.

    Example:
      >>> torch.mm(torch.eye(2), torch.ones(2, 3)).shape
      torch.Size([2, 3])
    """
    if input.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError("self must be a matrix" if input.ndim != 2 else "mat2 must be a matrix")
    _same_dtype(input, mat2)
    _check_inner(input, mat2)
    return input @ mat2


@op(differentiable=False, method=False)
def _int_mm(input: Input, mat2: Input):
    """Return the product of a matrix of int8 or uint8 and one of int8, summed in int32.

    RuntimeError for other dtypes, and for sizes that do not fit.
    """
    for name, x in (("self", input), ("mat2", mat2)):
        if x.ndim != 2:
            raise RuntimeError(
                f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {x.ndim}"
            )
    if input.dtype not in (np.int8, np.uint8):
        kind = c_name(dtypes.from_numpy_dtype(input.dtype))
        raise RuntimeError(
            f"int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got {kind}"
        )
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {input.shape[1]} "
            f"and {mat2.shape[0]}"
        )
    if mat2.dtype != np.int8:
        kind = c_name(dtypes.from_numpy_dtype(mat2.dtype))
        raise RuntimeError(f"int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got {kind}")
    return jnp.matmul(input.astype(np.int32), mat2.astype(np.int32))


@op(
    needs={"input": ["mat2"], "mat2": ["input"]},
    autocast="low",
    flops=lambda a, b, *rest, **_: 2 * a[0] * a[1] * a[2] * b[2],
)
def bmm(input: Input, mat2: Input):
    """Return the product of two batches of matrices.

    (B, n, k) and (B, k, m) give (B, n, m). RuntimeError for other dimensions, sizes or two dtypes.
    """
    if input.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError(f"batch{1 if input.ndim != 3 else 2} must be a 3D tensor")
    _check_dtypes_of_bmm(input, mat2)
    expected = (input.shape[0], input.shape[2])
    if mat2.shape[:2] != expected:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{expected[0]}, {expected[1]}] but got: [{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    return input @ mat2


@op(needs={"input": ["vec"], "vec": ["input"]}, autocast={"cuda": "low"})
def mv(input: Input, vec: Input):
    """Return the product of a matrix and a vector."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    _check_dtypes_of_addmv(vec, input, vec)
    _check_inner(input, vec)
    return input @ vec


@op(
    needs=_PRODUCT,
    saved_names={"other": "tensor"},
    autocast={"cuda": "widest"},
    other_names={"tensor": "other"},
    out_refusal="result dtype {found} does not match input dtype {wanted}",
)
def dot(input: Input, other: Input):
    """Return the inner product of two vectors."""
    _check_vectors(input, other)
    return jnp.dot(input, other)


@op(
    autocast={"cuda": "widest"},
    out_refusal="result dtype {found} does not match input dtype {wanted}",
)
def vdot(input: Input, other: Input):
    """Return the inner product of two vectors, the first conjugated."""
    _check_vectors(input, other)
    return jnp.vdot(input, other)


@op(casts_out=True, aliases=("ger",))
def outer(input: Input, vec2: Input):
    """Return every product of an element of one vector with one of the other."""
    for name, x in (("self", input), ("vec2", vec2)):
        if x.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {x.ndim}-D")
    return jnp.outer(input, vec2)


@op(
    casts_out=lambda input, other: not (input.dim() and other.dim()),
    autocast={"cpu": "low", "cuda": "low"},
)
def inner(input: Input, other: Input):
    """Return the products summed over the last dimensions."""
    if input.ndim and other.ndim:
        _equal_dtypes(input, other)
        if input.shape[-1] != other.shape[-1]:
            raise RuntimeError(
                "inner() the last dimension must match on both input tensors but got shapes "
                f"{list(input.shape)} and {list(other.shape)}"
            )
    return jnp.inner(input, other)


def _scaled_sum(input: Any, product: Any, beta: Any, alpha: Any) -> jax.Array:
    """Return ``beta * input + alpha * product``; NaN in an input weighted by 0 does not spread.

    ``product`` may be wider than ``input``; the sum is rounded once.
    """
    beta, alpha = scalar_like(beta, product), scalar_like(alpha, product)
    wide = input.astype(product.dtype)
    weighted = jnp.where(beta == 0, jnp.zeros_like(wide), beta * wide)
    return (weighted + alpha * product).astype(input.dtype)


def _accumulator(x: Any) -> Any:
    """Return the dtype in which PyTorch adds up 16-bit products."""
    return np.dtype(np.float32) if dtypes.is_half(x.dtype) else None


def _check_sum(input: Any, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError in PyTorch's words unless ``input`` can be expanded to the product's
    shape."""
    have = list(input.shape)
    if len(have) > len(shape):
        kind = f"torch.{scalar_type_of(input)}Tensor"
        raise RuntimeError(
            f"expand({kind}{{{have}}}, size={list(shape)}): the number of sizes provided "
            f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(have)})"
        )
    # The last dimension first, as PyTorch.
    for d in range(len(shape) - 1, len(shape) - len(have) - 1, -1):
        n = have[d - len(shape)]
        if n not in (1, shape[d]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[d]}) must match the existing size ({n}) "
                f"at non-singleton dimension {d}.  Target sizes: {list(shape)}.  Tensor sizes: "
                f"{have}"
            )


def _product_of(x: Any, y: Any, product: Any) -> jax.Array:
    """Return ``x @ y`` in the accumulator's dtype, after the checks of the op ``product``."""
    jax.eval_shape(product.spec.fn, x, y)
    return accumulated(x, y, _accumulator(x))


def _checked(input: Any, x: Any, y: Any, product: Any) -> jax.Array:
    """Return the product of `_product_of`, after the checks for a sum with ``input``."""
    made = _product_of(x, y, product)
    _check_sum(input, made.shape)
    return made


#: The order of the factors in old signatures.
_NUMBERS = ("beta", "alpha")


def _flops_of_added(added: Any, a: Any, b: Any, **_: Any) -> int:
    return 2 * math.prod(a) * b[-1]


def _addmm_in_parts(aten: Any, input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1):
    product = aten.mm.default(mat1, mat2)
    product = product if alpha == 1 else aten.mul.Tensor(product, alpha)
    return aten.add.Tensor(product, input if beta == 1 else aten.mul.Tensor(input, beta))


@op(
    inplace=True,
    numbers_first=_NUMBERS,
    needs={"input": ["beta"], "mat1": ["mat2", "alpha"], "mat2": ["mat1", "alpha"]},
    autocast="low",
    flops=_flops_of_added,
    decomposition=_addmm_in_parts,
)
def addmm(
    input: Input, mat1: Input, mat2: Input, *, beta: ComputedFactor = 1, alpha: ComputedFactor = 1
):
    """Return ``beta * input + alpha * (mat1 @ mat2)``."""
    for name, x in (("mat1", mat1), ("mat2", mat2)):
        if x.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {x.ndim}-D tensor")
    _check_dtypes_of_addmm(input, mat1, mat2)
    return _scaled_sum(input, _checked(input, mat1, mat2, mm), beta, alpha)


@op(inplace=True, numbers_first=_NUMBERS, autocast={"cuda": "low"})
def addmv(input: Input, mat: Input, vec: Input, *, beta: Factor = 1, alpha: Factor = 1):
    """Return ``beta * input + alpha * (mat @ vec)``."""
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}"
        )
    if input.ndim:
        rows, columns = mat.shape
        if vec.shape[0] != columns or input.shape[0] not in (1, rows):
            raise RuntimeError(
                f"size mismatch, got input ({input.shape[0]}), mat ({rows}x{columns}), vec "
                f"({vec.shape[0]})"
            )
    _check_dtypes_of_addmv(input, mat, vec)
    return _scaled_sum(input, _checked(input, mat, vec, mv), beta, alpha)


@op(casts_out=True, inplace=True, numbers_first=_NUMBERS, autocast={"cuda": "low"})
def addr(input: Input, vec1: Input, vec2: Input, *, beta: Factor = 1, alpha: Factor = 1):
    """Return ``beta * input + alpha * outer(vec1, vec2)``."""
    if vec1.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(
            f"addr: Expected 1-D argument vec{1 if vec1.ndim != 1 else 2}, but got "
            f"{(vec1 if vec1.ndim != 1 else vec2).ndim}-D"
        )
    kind = result_dtype(input, vec1, vec2).numpy
    _check_factors(kind, beta=beta, alpha=alpha)
    x, u, v = (t.astype(kind) for t in (input, vec1, vec2))
    wide = _accumulator(u) or kind
    _check_sum(x, (*u.shape, *v.shape))
    return _scaled_sum(x, jnp.outer(u.astype(wide), v.astype(wide)), beta, alpha)


@op(
    inplace=True,
    numbers_first=_NUMBERS,
    needs={"input": ["beta"], "batch1": ["batch2", "alpha"], "batch2": ["batch1", "alpha"]},
    autocast="low",
    flops=_flops_of_added,
)
def baddbmm(
    input: Input,
    batch1: Input,
    batch2: Input,
    *,
    beta: ComputedFactor = 1,
    alpha: ComputedFactor = 1,
):
    """Return ``beta * input + alpha * (batch1 @ batch2)``."""
    if batch1.ndim == batch2.ndim == 3:
        _check_sum(input, (*batch1.shape[:2], batch2.shape[2]))
    if input.dtype != batch1.dtype:
        kinds = [c_name(x.dtype) for x in (input, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {kinds[0]}, batch1: {kinds[1]}, batch2: "
            f"{kinds[2]}"
        )
    return _scaled_sum(input, _checked(input, batch1, batch2, bmm), beta, alpha)


@op(inplace=True, numbers_first=_NUMBERS, autocast="low")
def addbmm(
    input: Input,
    batch1: Input,
    batch2: Input,
    *,
    beta: ComputedFactor = 1,
    alpha: ComputedFactor = 1,
):
    """Return ``beta * input + alpha * (batch1 @ batch2).sum(0)``."""
    if batch1.ndim == batch2.ndim == 3:
        _check_sum(input, (batch1.shape[1], batch2.shape[2]))
    _check_dtypes_of_addmm(input, batch1, batch2)
    product = _product_of(batch1, batch2, bmm)
    return _scaled_sum(input, jnp.sum(product, 0), beta, alpha)


@op(
    "linear",
    namespaces=("nn.functional",),
    method=False,
    needs={"input": ["weight"], "weight": ["input"], "bias": []},
    autocast="low",
)
def linear(input: Input, weight: Input, bias: OptInput = None):
    """Return ``input @ weight.T + bias``. input: (…, in), weight: (out, in) or (in,), bias: (out,)
    or what else broadcasts to (…, out). RuntimeError for other sizes.

    Example:
      >>> torch.nn.functional.linear(torch.ones(5, 3), torch.ones(2, 3), torch.zeros(2)).shape
      torch.Size([5, 2])
    """
    if bias is None:
        _same_dtype(input, weight)
    else:
        _check_dtypes_of_addmm(bias, input, weight)
    if not (input.ndim and weight.ndim):
        raise RuntimeError(
            "both arguments to linear need to be at least 1D, but they are "
            f"{input.ndim}D and {weight.ndim}D"
        )
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if weight.ndim == 1:
        out = jnp.matmul(input, weight)
        return out if bias is None else out + bias
    if input.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({_rows(input)}x{input.shape[-1]} and "
            f"{weight.shape[1]}x{weight.shape[0]})"
        )
    wide = None
    if bias is not None:
        wide = _accumulator(input)
    out = times_transposed(_flat(input), weight, wide)
    if bias is not None:
        if bias.ndim > 1 < input.ndim:
            out = out.reshape(*input.shape[:-1], weight.shape[0])
        _check_sum(bias, out.shape)
        out = (out + bias.astype(out.dtype)).astype(input.dtype)
    return out.reshape(*input.shape[:-1], weight.shape[0])


@op(
    "bilinear",
    namespaces=("nn.functional", ""),
    method=False,
    autocast={"cuda": "widest"},
    one_object=True,
)
def bilinear(input1: Input, input2: Input, weight: Input, bias: OptInput = None):
    """Return ``input1 @ W_k @ input2 + bias_k`` for each output k.

    input1: (…, in1), input2: (…, in2), weight: (out, in1, in2), bias: (out,). Gives (…, out).
    RuntimeError for other sizes, and for operands of several dtypes.
    """
    operands = {"input1": input1, "input2": input2, "weight": weight}
    if bias is not None:
        operands["bias"] = bias
    if len({x.dtype for x in operands.values()}) > 1:
        given = (f"{name}: {c_name(x.dtype)}" for name, x in operands.items())
        raise RuntimeError("All tensors must have the same dtype, got " + ", ".join(given))
    if input1.ndim != input2.ndim:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}"
        )
    for d, (m, n) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if m != n:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {d}: got {m} and {n}"
            )
    if weight.ndim != 3:
        raise RuntimeError(f"bilinear(): weight must have 3 dimensions, got {weight.ndim}")
    for d, (name, x) in enumerate((("input1", input1), ("input2", input2)), 1):
        if x.shape[-1] != weight.shape[d]:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {x.shape[-1]} but "
                f"expected {weight.shape[d]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
            f"{weight.shape[0]}"
        )
    out = jnp.einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias


@op(
    "einsum_op",
    namespaces=(),
    method=False,
    memory_order=of_product,
    grad_name="EinsumBackward0",
    autocast="low",
)
def einsum_op(operands: Inputs, equation: Str):
    """Compute sums of products by index letters."""
    check_einsum(equation, operands)
    return jnp.einsum(equation, *operands)


@composite(method=False, python_signature="*spread")
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Compute sums of products in Einstein's notation: ``einsum("bij,bjk->bik", a, b)``, or with
    lists of numbers in place of letters: ``einsum(a, [0, 1, 2], b, [0, 2, 3], [0, 1, 3])``.

    Of one operand without a sum (``einsum("ii->i", a)``) the result is a view. RuntimeError for an
    equation that is none or that the operands do not fit, ValueError for lists that make none.

    Example:
      >>> a, b = torch.arange(6.0).view(2, 3), torch.ones(3)
      >>> torch.einsum("ij,j->i", a, b)
      tensor([ 3., 12.])
    """
    if not isinstance(equation, str):
        equation, operands = from_lists((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError(NO_OPERANDS)
    equation = equation.replace(" ", "")
    view = permuted(equation, operands[0]) if len(operands) == 1 else None
    return einsum_op(list(operands), equation) if view is None else view


def _distinct(dims: Any, ndim: int) -> tuple[int, ...]:
    """Return the dimensions, counted from the front. RuntimeError for one that comes twice."""
    wrapped = tuple(errors.wrap_dim(d, ndim) for d in dims)
    for i, d in enumerate(wrapped):
        if d in wrapped[:i]:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped


@op(
    "tensordot_op",
    namespaces=(),
    method=False,
    grad_name="TensordotBackward0",
    autocast={"cpu": "low", "cuda": "low"},
)
def tensordot_op(a: Input, b: Input, dims: Static):
    """Return the products summed over pairs of dimensions; of a pair, one may have size 1."""
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        over_a, over_b = tuple(range(-dims, 0)), tuple(range(dims))
    else:
        over_a, over_b = dims
    if len(over_a) != len(over_b):
        raise RuntimeError("both dimension lists should have same length")
    _equal_dtypes(a, b)
    named = tuple(zip(over_a, over_b, strict=True))
    over_a, over_b = _distinct(over_a, a.ndim), _distinct(over_b, b.ndim)
    for (d, e), i, j in zip(named, over_a, over_b, strict=True):
        if a.shape[i] == b.shape[j]:
            continue
        if a.shape[i] == 1:
            b = jnp.sum(b, j, keepdims=True)
        elif b.shape[j] == 1:
            a = jnp.sum(a, i, keepdims=True)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {d} "
                f"and second has size {b.shape[j]} in dim {e}"
            )
    return jnp.tensordot(a, b, (over_a, over_b))


@composite(method=False, python_signature=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    """Return the products summed over the last/first ``dims`` dimensions, or over two lists of
    them."""
    require_tensor(a, "tensordot", "a")
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    canonical = dims if isinstance(dims, int) else tuple(tuple(d) for d in dims)
    return tensordot_op(a, b, canonical, out=out)


@op(casts_out=True)
def kron(input: Input, other: Input):
    """Return the Kronecker product."""
    kind = result_dtype(input, other).numpy
    x, y = input.astype(kind), other.astype(kind)
    if kind == np.bool_:
        return jnp.kron(x.astype(np.uint8), y.astype(np.uint8)).astype(bool)
    return jnp.kron(x, y)


@composite(method=False, autocast={"cpu": "low", "cuda": "low"}, python_signature=True)
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Return the product of several matrices, left to right."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    require_tensors(matrices)
    product = matrices[0]
    for m in matrices[1:]:
        product = mm(product, m)
    return product
