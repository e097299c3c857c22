"""Products with matrices of few bits: 8-bit floats with scales, weights of int8 and of packed int4.

Sums are float32 throughout, as in PyTorch's CPU kernels, and are rounded once.
"""

from __future__ import annotations

import enum
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, DType, Input, Int, OptInput
from torchlike._ops.underived import without_derivative
from torchlike.tensor import Tensor

_ACTIVATIONS = frozenset(("float32", "bfloat16", "float16"))
_EXACT = lax.Precision.HIGHEST


class ScalingType(enum.IntEnum):
    """What a scale of a product of 8-bit floats belongs to: a matrix, a row, or a block."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """How the scales of blocks lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def _described(**tensors: Any) -> str:
    said = []
    for name, x in tensors.items():
        dtype = dtypes.scalar_type(dtypes.from_numpy_dtype(x.dtype))
        said += [f"{name}.dtype()={dtype}", f"{name}.size()={list(x.shape)}"]
    return ", ".join(said)


def _check_scaled(a: Any, b: Any, scale_a: Any, scale_b: Any, bias: Any) -> None:
    for n, x in enumerate((a, b), 1):
        if x.ndim != 2:
            raise RuntimeError(f"mat{n} must be a matrix")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat_a and mat_b shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
            f"{b.shape[0]}x{b.shape[1]})"
        )
    eight = all(x.dtype.name in ("float8_e4m3fn", "float8_e5m2") for x in (a, b))
    floats = scale_a.dtype == scale_b.dtype == np.float32
    single = scale_a.size == scale_b.size == 1
    rows = scale_a.shape == (a.shape[0], 1) and scale_b.shape == (1, b.shape[1])
    if not (eight and floats and (single or rows)):
        raise ValueError(
            "Invalid scaling configuration.\n"
            "- For TensorWise scaling, a and b should be float8, scales should be float and "
            "singletons.\n"
            "- For RowWise scaling, a and b should be float8, scales should be float, scale_a "
            f"should be ({a.shape[0]}, 1) and scale_b should be (1, {b.shape[1]}), and both should "
            f"be contiguous.\nGot {_described(mat_a=a, scale_a=scale_a, mat_b=b, scale_b=scale_b)}"
        )
    if bias is not None and bias.size != b.shape[1]:
        raise RuntimeError(f"Bias must be size {b.shape[1]} but got {bias.size}")


@op(differentiable=False, method=False, tags="needs_exact_strides.default|out")
def _scaled_mm(
    input: Input,
    mat2: Input,
    scale_a: Input,
    scale_b: Input,
    bias: OptInput = None,
    scale_result: OptInput = None,
    out_dtype: DType = None,
    use_fast_accum: Bool = False,
):
    """Return ``(input * scale_a) @ (mat2 * scale_b) + bias`` of matrices of 8-bit floats.

    The scales (float32) are single numbers, or (M, 1) for the rows of ``input`` and (1, N) for the
    columns of ``mat2``. The result has ``out_dtype``, by default ``input``'s; where a float of
    8 bits is asked for, it is divided by ``scale_result``. ``use_fast_accum`` changes nothing.

    ValueError for other dtypes and scales, RuntimeError for sizes that do not fit.
    """
    _check_scaled(input, mat2, scale_a, scale_b, bias)
    single = scale_a.size == scale_b.size == 1
    if single:
        scale_a, scale_b = scale_a.reshape(()), scale_b.reshape(())
    product = jnp.matmul(input.astype(np.float32), mat2.astype(np.float32), precision=_EXACT)
    product = product * scale_a * scale_b
    if bias is not None:
        product = product + bias.astype(np.float32)
    target = np.dtype(input.dtype if out_dtype is None else out_dtype)
    if scale_result is not None and out_dtype is not None and target.itemsize == 1:
        product = product / scale_result.astype(np.float32).reshape(())
    return product.astype(target)


@composite(method=False, tags="needs_exact_strides.default|out")
def _scaled_mm_v2(
    self: Tensor,
    mat2: Tensor,
    scale_a: list[Tensor],
    recipe_a: list[int],
    swizzle_a: list[int],
    scale_b: list[Tensor],
    recipe_b: list[int],
    swizzle_b: list[int],
    bias: Tensor | None,
    out_dtype: Any,
    contraction_dim: Any = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """Compute ``_scaled_mm`` with the kind of the scales named: one number (recipe 0), or one for
    each row and column (1). NotImplementedError for scales of blocks, which PyTorch's CPU build
    refuses too.
    """
    if [*recipe_a, *recipe_b] not in ([0, 0], [1, 1]):
        raise NotImplementedError(
            "torch._scaled_mm_v2: scales of blocks are not there. Use instead: "
            "ScalingType.TensorWise or ScalingType.RowWise for both operands."
        )
    return _scaled_mm(self, mat2, scale_a[0], scale_b[0], bias, None, out_dtype, use_fast_accum)


def _listed(x: Any) -> list[Any]:
    return [] if x is None else list(x) if isinstance(x, (list, tuple)) else [x]


@composite(namespaces=("nn.functional",), method=False)
def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Any,
    scale_recipe_a: Any,
    scale_b: Any,
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    output_dtype: Any = dtypes.bfloat16,
    contraction_dim: Any = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """Return ``(mat_a * scale_a) @ (mat_b * scale_b) + bias`` of matrices of 8-bit floats.

    The recipes are ``ScalingType.TensorWise`` (scales are single numbers) or ``RowWise`` (a number
    for each row of ``mat_a`` and each column of ``mat_b``).

    NotImplementedError for scales of blocks; ValueError for other dtypes and scales, RuntimeError
    for sizes that do not fit.
    """
    kinds = (
        [int(x) for x in _listed(given)]
        for given in (scale_recipe_a, swizzle_a, scale_recipe_b, swizzle_b)
    )
    recipe_a, order_a, recipe_b, order_b = kinds
    return _scaled_mm_v2(
        mat_a,
        mat_b,
        _listed(scale_a),
        recipe_a,
        order_a,
        _listed(scale_b),
        recipe_b,
        order_b,
        bias,
        output_dtype,
        list(contraction_dim),
        use_fast_accum,
    )


def _check_weight(kernel: str, a: Any, b: Any, dtype: Any, width: int, said: str) -> None:
    if a.ndim != 2:
        raise RuntimeError(f"{kernel} : expect A to be 2D tensor.")
    if a.dtype.name not in _ACTIVATIONS:
        raise RuntimeError(f"{kernel} : expect A to be either 32-bit or 16-bit float tensor.")
    if b.dtype != dtype:
        raise RuntimeError(f"{kernel} : expect B to be {dtype.__name__} tensor.")
    if b.ndim != 2 or b.shape[1] != width:
        raise RuntimeError(f"{kernel} : expect B.size(1) {said}")


def _check_same(a: Any, other: Any) -> None:
    if a.dtype != other.dtype:
        expected, found = (dtypes.scalar_type(dtypes.from_numpy_dtype(x.dtype)) for x in (a, other))
        raise RuntimeError(f"expected scalar type {expected} but found {found}")


def _of_int8(input: Any, mat2: Any, scales: Any) -> Any:
    weight = mat2.astype(np.float32)
    product = jnp.matmul(input.astype(np.float32), weight.T, precision=_EXACT)
    return (product * scales.astype(np.float32)).astype(input.dtype)


@op(method=False, grad_name="NotImplemented")
def _weight_int8pack_mm(input: Input, mat2: Input, scales: Input):
    """Return ``input @ (mat2 * scales[:, None]).T`` for int8 weights (N, K) with a scale for each
    row.

    RuntimeError for sizes and dtypes that do not fit, and in backward: PyTorch has no derivative.
    """
    name = "_weight_int8pack_mm_cpu"
    _check_weight(name, input, mat2, np.int8, input.shape[-1], f"== {input.shape[-1]}")
    if scales.shape != mat2.shape[:1]:
        raise RuntimeError(f"{name} : expect scales to be 1d tensor with size {mat2.shape[0]}")
    _check_same(input, scales)
    return without_derivative("aten::_weight_int8pack_mm", _of_int8)(input, mat2, scales)


def _blocks(rows: int) -> list[tuple[int, int, int]]:
    """Return the start, the length, and the distance of the two rows in a byte, for each block of
    64 rows."""
    return [(i, min(64, rows - i), 32 if rows - i >= 64 else 1) for i in range(0, rows, 64)]


def _pairs(length: int, apart: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    first = np.arange(length // 2) if apart > 1 else np.arange(0, length, 2)
    return first, first + apart


@op(differentiable=False, method=False)
def _convert_weight_to_int4pack_for_cpu(input: Input, innerKTiles: Int):
    """Pack two weights of 0 … 15 (int32, (N, K)) into a byte: uint8 (N, K / 2), for
    ``_weight_int4pack_mm_for_cpu`` alone to read. ``innerKTiles`` changes nothing.

    The bytes are those that PyTorch writes on CPUs with AVX-512: blocks of 64 rows, transposed.

    RuntimeError unless N is a multiple of 16 and K is even.
    """
    name = "_convert_weight_to_int4pack"
    if input.ndim != 2:
        raise RuntimeError(f"{name}_cpu : expect weight to be 2D tensor.")
    if input.dtype != np.int32:
        raise RuntimeError(f"{name}_cpu : expect weight to be kInt.")
    rows, columns = input.shape
    if rows % 16:
        raise RuntimeError(f"{name}_cpu : expect N to be dividable by 16")
    if columns % 2:
        raise RuntimeError(f"{name}: expect K to be dividable by 2")
    levels, parts = input.astype(np.uint8), []
    for start, length, apart in _blocks(rows):
        low, high = _pairs(length, apart)
        block = levels[start : start + length]
        packed = (block[low] & 15) | (block[high] << 4)
        parts.append(packed.T.reshape(length, columns // 2))
    return jnp.concatenate(parts) if parts else jnp.zeros((0, columns // 2), np.uint8)


def _unpacked(packed: Any) -> Any:
    rows, columns = packed.shape[0], packed.shape[1] * 2
    parts = []
    for start, length, apart in _blocks(rows):
        low, high = _pairs(length, apart)
        block = packed[start : start + length].reshape(columns, length // 2).T
        # Row i of the block is row place[i] of the low and then the high halves of its bytes.
        place = np.argsort(np.concatenate([low, high]))
        parts.append(jnp.concatenate([block & 15, block >> 4])[place])
    return jnp.concatenate(parts) if parts else jnp.zeros((0, columns), np.uint8)


def _of_int4(input: Any, mat2: Any, scales: Any, group: int) -> Any:
    scale, zero = (
        jnp.repeat(scales[..., i].astype(np.float32).T, group, axis=1)[:, : input.shape[1]]
        for i in (0, 1)
    )
    weight = (_unpacked(mat2).astype(np.float32) - 8) * scale + zero
    product = jnp.matmul(input.astype(np.float32), weight.T, precision=_EXACT)
    return product.astype(input.dtype)


@op(method=False, grad_name="NotImplemented")
def _weight_int4pack_mm_for_cpu(input: Input, mat2: Input, qGroupSize: Int, qScaleAndZeros: Input):
    """Return ``input @ weight.T`` for a weight of ``_convert_weight_to_int4pack_for_cpu``.

    The weight is ``(level - 8) * scale + zero``, where ``qScaleAndZeros`` (K / qGroupSize, N, 2)
    has scale and zero for each group of ``qGroupSize`` (32, 64, 128 or 256) columns of a row.

    RuntimeError for sizes and dtypes that do not fit, and in backward: PyTorch has no derivative.
    """
    name = "_weight_int4pack_mm_cpu"
    _check_weight(
        name, input, mat2, np.uint8, input.shape[-1] // 2, f"to be K/2, got {mat2.shape[-1]}"
    )
    if qGroupSize not in (32, 64, 128, 256):
        raise RuntimeError(f"{name}: expect qGroupSize to be 32, 64, 128 or 256, got {qGroupSize}")
    rows = mat2.shape[0]
    if qScaleAndZeros.ndim != 3 or qScaleAndZeros.shape[1:] != (rows, 2):
        raise RuntimeError(
            f"{name}: expect qScaleAndZeros to be 3d tensor with sizes [:, {rows}, 2]"
        )
    _check_same(input, qScaleAndZeros)

    def product(input: Any, mat2: Any, scales: Any) -> Any:
        return _of_int4(input, mat2, scales, qGroupSize)

    found = without_derivative("aten::_weight_int4pack_mm_for_cpu", product)
    return found(input, mat2, qScaleAndZeros)
