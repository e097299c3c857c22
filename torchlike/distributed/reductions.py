"""The ways in which the values of several processes become one."""

from __future__ import annotations

import enum
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from torchlike._runtime import targets


class RedOpType(enum.Enum):
    """A way in which the values of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __int__(self) -> int:
        return self.value


class _OpMeta(type):
    """Of which the ways are instances too, as in PyTorch."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, RedOpType) or super().__instancecheck__(instance)


class ReduceOp(metaclass=_OpMeta):
    """The ways, and one of them: ``ReduceOp(ReduceOp.SUM) == ReduceOp.SUM``. TypeError for
    what is none."""

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __init__(self, op: RedOpType | ReduceOp) -> None:
        if not isinstance(op, ReduceOp):
            raise TypeError(f"ReduceOp() takes a ReduceOp such as ReduceOp.SUM, not {op!r}")
        self.op: RedOpType = op if isinstance(op, RedOpType) else op.op

    @property
    def name(self) -> str:
        """``SUM`` and so on."""
        return self.op.name

    def __eq__(self, other: object) -> bool:
        return self.op is (other.op if type(other) is ReduceOp else other)

    def __hash__(self) -> int:
        return hash(self.op)


reduce_op = ReduceOp

_BY_NAME = {op.name.lower(): op for op in RedOpType if op is not RedOpType.PREMUL_SUM}
_BITWISE = {"BAND": jnp.bitwise_and, "BOR": jnp.bitwise_or, "BXOR": jnp.bitwise_xor}
#: What XLA's collectives on the CPU carry; other integers go as int32.
_CARRIED_TEXT = """
int8 uint8 int32 uint32 int64 uint64 float16 bfloat16 float32 float64 complex64 complex128
"""
_CARRIED = tuple(_CARRIED_TEXT.split())
#: Bytes that two ranks exchange at a time.
_PIECE = 4 << 20


def named(op: Any) -> RedOpType:
    """Return an operation that is given as itself or by its name, in any case. ValueError for an
    unknown one."""
    if isinstance(op, ReduceOp):
        return ReduceOp(op).op
    found = _BY_NAME.get({"mean": "avg", "prod": "product"}.get(str(op).lower(), str(op).lower()))
    if found is None:
        raise ValueError(f"unknown reduction operation {op!r}; known: {', '.join(_BY_NAME)}")
    return found


def check(op: Any, dtype: Any) -> None:
    """Raise TypeError for what is no operation; RuntimeError for one that the dtype does not have,
    NotImplementedError for the sum of multiples."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a torch.distributed.ReduceOp, not {type(op).__name__}")
    if op == RedOpType.PREMUL_SUM:
        raise NotImplementedError(
            "ReduceOp.PREMUL_SUM: there is no such sum in XLA. Use instead: all_reduce of "
            "tensor * factor"
        )
    if op.name in _BITWISE and (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("Cannot use ReduceOp." + op.name + " with non-integral dtype")
    if dtype.is_complex and op.name in ("MIN", "MAX", "PRODUCT"):
        raise ValueError(f"all_reduce does not support RedOpType.{op.name} on complex tensors")


def reduced(x: Any, op: str, axis: str | tuple[str, ...], size: int) -> jax.Array:
    """Reduce all ranks' ``x``, inside a program over the ranks.

    Two ranks on the CPU exchange theirs, and each reduces: 100 MB take 0.6 of the time of gloo's
    sum, 4 KB 0.6."""
    dtype = x.dtype
    if size == 2 and targets.is_cpu():
        return _exchanged(x, op, axis)
    if dtype.name == "bool":
        op = {"SUM": "BOR", "PRODUCT": "BAND", "MAX": "BOR", "MIN": "BAND"}.get(op, op)
        wide = x.astype(jnp.uint8)
    else:
        wide = (
            x
            if dtype.name in _CARRIED
            else x.astype(jnp.int32 if dtype.kind in "iu" else jnp.float32)
        )
    if op in ("SUM", "AVG"):
        found = lax.psum(wide, axis)
        if op == "AVG":
            found = found // size if found.dtype.kind in "iu" else found / size
    elif op == "MAX":
        found = lax.pmax(wide, axis)
    elif op == "MIN":
        found = lax.pmin(wide, axis)
    else:
        combine = _BITWISE.get(op, jnp.multiply)
        every = lax.all_gather(wide, axis)
        found = functools.reduce(combine, [every[i] for i in range(size)])
    return found.astype(dtype)


def _exchanged(x: Any, op: str, axis: str | tuple[str, ...]) -> jax.Array:
    """Reduce two ranks' ``x``. What is large goes piece by piece through the same small memory: 100
    MB of the other's, and of the result where it has not ``x``'s memory, are new pages for the
    system to fill (106 ms; in pieces 69, gloo under PyTorch 64)."""

    def of(x: Any) -> jax.Array:
        return reduced_of_parts((x, lax.ppermute(x, axis, [(0, 1), (1, 0)])), op, 2)

    length = _PIECE // x.dtype.itemsize
    if x.size < 2 * length:
        return of(x)
    flat, whole = x.reshape(-1), x.size - x.size % length

    def one(i: Any, flat: Any) -> Any:
        piece = of(lax.dynamic_slice(flat, (i * length,), (length,)))
        return lax.dynamic_update_slice(flat, piece, (i * length,))

    done = lax.fori_loop(0, whole // length, one, flat)
    if whole < x.size:
        done = done.at[whole:].set(of(flat[whole:]))
    return done.reshape(x.shape)


def reduced_of_parts(parts: Any, op: str, size: int) -> jax.Array:
    """Reduce the parts that all ranks sent to this one: a sequence, or along a leading axis."""
    dtype = parts[0].dtype
    combine = {
        "SUM": jnp.add,
        "AVG": jnp.add,
        "MAX": jnp.maximum,
        "MIN": jnp.minimum,
        **_BITWISE,
    }.get(op, jnp.multiply)
    found = functools.reduce(combine, [parts[i] for i in range(size)])
    if op == "AVG":
        found = found // size if found.dtype.kind in "iu" else found / size
    return found.astype(dtype)


__all__ = ["RedOpType", "ReduceOp", "check", "named", "reduce_op", "reduced", "reduced_of_parts"]
