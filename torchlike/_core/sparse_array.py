"""What the cell of a sparse tensor holds: indices and values, each a tensor, in an array's place.

A `SparseArray` is in coordinate form, a `CompressedArray` has the indices of one dimension
compressed.

As for a MetaArray or a box, the hot path does not ask for it: compiled functions refuse it with an
error, and only then is the call looked at again. An op that knows sparse operands has a *rule*
for their kind (torchlike/sparse); all others say that they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torchlike._core.meta import StandIn

#: Ops on sparse operands: {name: rule(*operands, *statics)}. See torchlike/sparse/_rules.py, and
#: _compressed_rules.py for the second.
RULES: dict[str, Callable[..., Any]] = {}
COMPRESSED_RULES: dict[str, Callable[..., Any]] = {}


class SparseArray(StandIn):
    """``at`` (sparse_dim, nnz) and ``held`` (nnz, …), tensors; whether sorted and without
    duplicates, which otherwise add up; what takes gradients at other places, or None
    (torchlike/sparse/_elsewhere.py)."""

    __slots__ = ("at", "coalesced", "elsewhere", "held")

    def __init__(self, at: Any, held: Any, shape: Iterable[int], coalesced: bool) -> None:
        self.at, self.held = at, held
        self.elsewhere: Any = None
        self.coalesced = coalesced or held.shape[0] < 2
        self.shape = tuple(shape)

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        return self.held.dtype.numpy

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseArray, (self.at, self.held, self.shape, self.coalesced)

    def parts(self) -> tuple[Any, Any]:
        """Return the arrays of indices and values."""
        return self.at._read(), self.held._read()

    def tensors(self) -> tuple[Any, ...]:
        """Return the tensors of which the array consists."""
        return self.at, self.held

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(refusal("this operation"))

    __array__ = __getitem__ = astype = reshape = __jax_array__ = _refuse


class CompressedArray(StandIn):
    """A matrix, or a batch of them, in a compressed layout.

    Rows are compressed in CSR and BSR, columns in CSC and BSC: ``compressed`` (*batch, n + 1) says
    where the elements of each begin. ``plain`` (*batch, nnz) has their indices in the other
    dimension, and ``held`` (*batch, nnz, …) the values: blocks in BSR and BSC. ``elsewhere`` as
    above.
    """

    __slots__ = ("compressed", "elsewhere", "held", "layout", "plain")

    def __init__(
        self, compressed: Any, plain: Any, held: Any, shape: Iterable[int], layout: Any
    ) -> None:
        self.compressed, self.plain, self.held = compressed, plain, held
        self.elsewhere: Any = None
        self.shape = tuple(shape)
        self.layout = layout

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        return self.held.dtype.numpy

    def __reduce__(self) -> tuple[Any, ...]:
        return CompressedArray, (*self.tensors(), self.shape, self.layout)

    def tensors(self) -> tuple[Any, ...]:
        """Return the tensors of which the array consists."""
        return self.compressed, self.plain, self.held

    _refuse = SparseArray._refuse
    __array__ = __getitem__ = astype = reshape = __jax_array__ = _refuse


KINDS = frozenset((SparseArray, CompressedArray))


def refusal(what: str) -> str:
    """Return the message for something that does not know sparse tensors."""
    return f"{what} is not written for sparse tensors: call to_dense() first"


def involved(arrays: Iterable[Any]) -> bool:
    """Return whether one of the operands is sparse."""
    return any(type(a) in KINDS for a in arrays)


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
