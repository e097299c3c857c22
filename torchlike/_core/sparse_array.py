"""What the cell of a sparse tensor holds: indices and values, each a tensor, in an array's place.

As for a MetaArray or a box, the hot path does not ask for it: compiled functions refuse it with an
error, and only then is the call looked at again. An op that knows sparse operands has a *rule*
(sparse_rules); all others say that they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torchlike._core.meta import StandIn

#: Ops on sparse operands: {name: rule(*operands, *statics)}. See sparse_rules.
RULES: dict[str, Callable[..., Any]] = {}


class SparseArray(StandIn):
    """``at`` (sparse_dim, nnz) and ``held`` (nnz, …), tensors; whether sorted and without
    duplicates, which otherwise add up."""

    __slots__ = ("at", "coalesced", "held")

    def __init__(self, at: Any, held: Any, shape: Iterable[int], coalesced: bool) -> None:
        self.at, self.held = at, held
        self.coalesced = coalesced or held.shape[0] < 2
        self.shape = tuple(shape)

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        return self.held.dtype.numpy

    def parts(self) -> tuple[Any, Any]:
        """The arrays of indices and values."""
        return self.at._read(), self.held._read()

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(refusal("this operation"))

    __array__ = __getitem__ = astype = reshape = __jax_array__ = _refuse


def refusal(what: str) -> str:
    """The words for something that does not know sparse tensors."""
    return f"{what} is not written for sparse tensors: call to_dense() first"


def involved(arrays: Iterable[Any]) -> bool:
    """Whether one of the operands is sparse."""
    return any(type(a) is SparseArray for a in arrays)


def run(name: str, args: Iterable[Any]) -> Any:
    """An op of which an operand is sparse. NotImplementedError without a rule for it."""
    rule = RULES.get(name)
    if rule is None:
        raise NotImplementedError(refusal(f"{name}()"))
    return rule(*args)
