"""What the cell of a sparse tensor holds: indices and values, each a tensor, in an array's place.

A `SparseArray` is in coordinate form, a `CompressedArray` has the indices of one dimension
compressed.

A kind of cell (torchlike/_core/cells.py). An op that knows sparse operands has a *rule* for their
kind (torchlike/sparse); all others say that they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp

from torchlike._core.cells import StandIn
from torchlike._core.dispatch.schema import StaticNumber
from torchlike._core.dispatch.spec import group
from torchlike._extensions.parts_storage import PartsStorage
from torchlike.tensor import wrap

#: Ops on sparse operands: {name: rule(*operands, *statics)}. torchlike/sparse/_rules.py fills the
#: first, torchlike/sparse/_compressed_rules.py the second.
RULES: dict[str, Callable[..., Any]] = {}
COMPRESSED_RULES: dict[str, Callable[..., Any]] = {}


def run_op(spec: Any, operands: Any, statics: Any, lengths: Any = ()) -> Any:
    """Run an op of which an operand is sparse, by the op's rule for them."""
    grouped = group(tuple(operands), lengths) if lengths else operands
    plain = tuple([s.value if type(s) is StaticNumber else s for s in statics])
    return run(spec.name, spec.combine(grouped, plain))


class _Sparse(StandIn):
    """What both kinds share."""

    __slots__ = ("elsewhere", "held")
    precedence = 3  # ops have rules for them, whatever the other operands are
    run_op = staticmethod(run_op)
    held: Any

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        return self.held.dtype.numpy

    @property
    def device(self) -> Any:
        return self.held.device

    def storage(self) -> PartsStorage:
        return PartsStorage(self)

    @classmethod
    def backward(cls, node: Any, cotangents: list[Any]) -> Any:
        """Run the backward on dense gradients: these are from a Function of the user's."""
        whole = [c.dense() if type(c) is SparseArray else c for c in cotangents]
        if any(type(c) in KINDS for c in (*node.saved, *whole)):
            raise NotImplementedError(refusal("the gradient of this operation"))
        return node.run(whole)

    @classmethod
    def refusal(cls, what: str) -> str:
        return refusal(what)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(refusal("this operation"))

    __array__ = __getitem__ = astype = reshape = __jax_array__ = _refuse


class SparseArray(_Sparse):
    """``at`` (sparse_dim, nnz) and ``held`` (nnz, …), tensors; whether sorted and without
    duplicates, which otherwise add up; what takes gradients at other places, or None
    (torchlike/sparse/_elsewhere.py)."""

    __slots__ = ("at", "coalesced")
    adds_anew = True

    def __init__(self, at: Any, held: Any, shape: Iterable[int], coalesced: bool) -> None:
        self.at, self.held = at, held
        self.elsewhere: Any = None
        self.coalesced = coalesced or held.shape[0] < 2
        self.shape = tuple(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseArray, (self.at, self.held, self.shape, self.coalesced)

    def check_copied(self, target: Any, source: Any) -> None:
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{target.type()} and src type = {source.type()}"
        )

    def parts(self) -> tuple[Any, Any]:
        """Return the arrays of indices and values."""
        return self.at._read(), self.held._read()

    def tensors(self) -> tuple[Any, ...]:
        """Return the tensors of which the array consists."""
        return self.at, self.held

    def elements(self) -> Any:
        return self.parts()[1]

    def dense(self) -> jax.Array:
        """Return the dense array, duplicates added."""
        return _scattered(jnp.zeros(self.shape, self.dtype), *self.parts())

    @classmethod
    def add(cls, function: Callable[..., Any], a: Any, b: Any) -> Any:
        """Add two arrays of which one at least is sparse: the sum is sparse when both are."""
        if type(a) is not SparseArray:
            return _scattered(a, *b.parts())
        if type(b) is not SparseArray:
            return _scattered(b, *a.parts())
        (at, held), (at2, held2) = a.parts(), b.parts()
        return SparseArray(
            wrap(jnp.concatenate([at, at2], 1)),
            wrap(jnp.concatenate([held, held2])),
            a.shape,
            False,
        )


class CompressedArray(_Sparse):
    """A matrix, or a batch of them, in a compressed layout.

    Rows are compressed in CSR and BSR, columns in CSC and BSC: ``compressed`` (*batch, n + 1) says
    where the elements of each begin. ``plain`` (*batch, nnz) has their indices in the other
    dimension, and ``held`` (*batch, nnz, …) the values: blocks in BSR and BSC. ``elsewhere`` as
    above.
    """

    __slots__ = ("compressed", "layout", "plain")

    def __init__(
        self, compressed: Any, plain: Any, held: Any, shape: Iterable[int], layout: Any
    ) -> None:
        self.compressed, self.plain, self.held = compressed, plain, held
        self.elsewhere: Any = None
        self.shape = tuple(shape)
        self.layout = layout

    def __reduce__(self) -> tuple[Any, ...]:
        return CompressedArray, (*self.tensors(), self.shape, self.layout)

    def check_copied(self, target: Any, source: Any) -> None:
        raise RuntimeError(
            "copy_sparse_compressed_ expected sparse compressed tensor layout but got Strided"
        )

    def tensors(self) -> tuple[Any, ...]:
        """Return the tensors of which the array consists."""
        return self.compressed, self.plain, self.held


@jax.jit
def _scattered(whole: Any, at: Any, values: Any) -> jax.Array:
    """Return ``whole`` with values added at their places."""
    return whole.at[tuple(at)].add(values) if at.shape[0] else whole + values.sum(0)


KINDS = frozenset((SparseArray, CompressedArray))


def refusal(what: str) -> str:
    """Return the message for something that does not know sparse tensors."""
    return f"{what} is not written for sparse tensors: call to_dense() first"


def run(name: str, args: Iterable[Any]) -> Any:
    """Run an op of which an operand is sparse, by its rule; raise NotImplementedError without a
    rule for it."""
    args = tuple(args)
    rules = COMPRESSED_RULES if any(map(_is_compressed, args)) else RULES
    rule = rules.get(name)
    if rule is None:
        raise NotImplementedError(refusal(f"{name}()"))
    return rule(*args)


def _is_compressed(operand: Any) -> bool:
    if isinstance(operand, (tuple, list)):
        return any(map(_is_compressed, operand))
    storage = getattr(operand, "_storage", None)
    return storage is not None and type(storage.cell) is CompressedArray
