"""A ragged tensor (``layout=torch.jagged``): values one after another, and where each begins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from torchlike._core import errors, modes
from torchlike._core.layouts import jagged, preserve_format
from torchlike._core.size import Size, size_of
from torchlike._extensions.parts_array import PartsArray
from torchlike._extensions.parts_storage import PartsStorage
from torchlike._runtime import trees
from torchlike.nested._internal.base import Nested, Rules, hooked, retained
from torchlike.nested._internal.nested_int import (
    NestedInt,
    nested_int_of,
    tensor_symint_registry,
)
from torchlike.tensor import Tensor

#: PyTorch's name of it.
_tensor_symint_registry = tensor_symint_registry
_INSTEAD = "the nested tensor as an argument, or max_seqlen= where it is made"


def _as_list(values: np.ndarray) -> list[int]:
    return values.tolist()


#: The least and the greatest length, from lengths and from offsets.
_OF_LENGTHS: dict[str, Callable[[np.ndarray], int]] = {
    "min_seqlen": lambda values: int(values.min()),
    "max_seqlen": lambda values: int(values.max()),
}
_OF_OFFSETS: dict[str, Callable[[np.ndarray], int]] = {
    "min_seqlen": lambda values: int(np.diff(values).min()),
    "max_seqlen": lambda values: int(np.diff(values).max()),
}


def _numbers(t: Tensor, read: Callable[[np.ndarray], Any], asked: str) -> Any:
    """Return what ``read`` makes of a tensor's values. During a capture that is known of arguments
    alone: JitCaptureError for others."""
    found = modes.running_capture().numbers_asked(t, read)
    return read(t._value(asked, _INSTEAD)) if found is None else found


class NestedTensor(Nested):
    """Values (…, total, …), whose dimension ``_ragged_idx - 1`` is divided by ``offsets`` (n + 1)
    into n parts. Its size is that of the values with n in front, and a `NestedInt` for the total.

    With ``lengths`` (n) each part is that many from its offset on: there are holes between them.
    """

    __module__ = "torchlike.nested._internal.nested_tensor"

    def __new__(
        cls,
        values: Tensor,
        offsets: Tensor,
        *,
        lengths: Tensor | None = None,
        _ragged_idx: int = 1,
        _metadata_cache: Any = None,
        requires_grad: Any = False,
    ) -> NestedTensor:
        """Make a nested tensor of values and offsets. Raises AssertionError, as in PyTorch, for
        offsets that are no vector or do not fit lengths."""
        if offsets is None:
            raise AssertionError("offsets must not be None")
        if offsets.ndim != 1:
            raise AssertionError(f"offsets must be 1D, but got {offsets.ndim}D")
        if isinstance(values, NestedTensor):
            raise AssertionError("values must not be a NestedTensor")
        n = offsets.shape[0] - 1
        if lengths is not None and n != lengths.shape[0]:
            raise AssertionError(
                f"offsets and lengths batch sizes must match: offsets.shape[0] - 1 = {n}, "
                f"lengths.shape[0] = {lengths.shape[0]}"
            )
        ragged = nested_int_of(offsets if lengths is None else lengths)
        at = _ragged_idx - 1
        shape = (n, *values.shape[:at], ragged, *values.shape[at + 1 :])
        parts = (offsets,) if lengths is None else (offsets, lengths)
        facts = _ragged_idx, dict(_metadata_cache or {})
        made = cls._on(PartsStorage(PartsArray(values, parts, shape, facts)))
        return made.requires_grad_() if requires_grad else made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: ``__new__`` has done all."""

    # -- what it is --------------------------------------------------------------------------------

    layout: Any = jagged
    rules: ClassVar[Rules] = {"register_hook": hooked, "retain_grad": retained}

    @property
    def _values(self) -> Tensor:
        return self._held

    @property
    def _offsets(self) -> Tensor:
        return self._storage.cell.parts[0]

    @property
    def _lengths(self) -> Tensor | None:
        parts = self._storage.cell.parts
        return parts[1] if len(parts) == 2 else None

    @property
    def _ragged_idx(self) -> int:
        return self._facts[0]

    @property
    def _metadata_cache(self) -> dict[str, int]:
        """The least and the greatest length, "min_seqlen" and "max_seqlen", where known."""
        return {**self._facts[1], **vars(self).get("_asked", {})}

    def values(self) -> Tensor:
        """Return a view of the values: gradients flow through it."""
        return self._held.view_as(self._held)  # type: ignore[attr-defined]

    def offsets(self) -> Tensor:
        """Return where each part begins, and where the last ends: (n + 1,)."""
        return self._offsets

    def lengths(self) -> Tensor | None:
        """Return the length of each part (n,) where there are holes between them, else None."""
        return self._lengths

    def all_lengths(self) -> Tensor:
        """Return the length of each part (n,)."""
        found = self._lengths
        return self._offsets.diff() if found is None else found  # type: ignore[attr-defined]

    def places(self) -> tuple[list[int], list[int]]:
        """Return where the parts begin, and how long they are, as numbers.

        A program that ``torchlike.jit`` compiles is for the lengths that it was compiled with, and
        is compiled again for others. JitCaptureError where they are no argument's.
        """
        offsets = _numbers(self._offsets, _as_list, "the places of a nested tensor's parts")
        if self._lengths is None:
            return offsets[:-1], [b - a for a, b in itertools.pairwise(offsets)]
        return offsets[:-1], _numbers(self._lengths, _as_list, "the lengths of nested parts")

    def _extreme(self, name: str) -> int:
        known = self._metadata_cache.get(name)
        if known is not None:
            return known
        asked = "the longest part of a nested tensor"
        if self._lengths is None:
            found = _numbers(self._offsets, _OF_OFFSETS[name], asked)
        else:
            found = _numbers(self._lengths, _OF_LENGTHS[name], asked)
        # An argument of a program that is being compiled stays as it was for its caller.
        captured = modes.is_capturing()
        (vars(self).setdefault("_asked", {}) if captured else self._facts[1])[name] = found
        return found

    def _get_max_seqlen(self) -> int:
        return self._extreme("max_seqlen")

    def _get_min_seqlen(self) -> int:
        return self._extreme("min_seqlen")

    _max_seqlen = property(_get_max_seqlen)
    _min_seqlen = property(_get_min_seqlen)
    _maybe_max_seqlen = property(lambda self: self._metadata_cache.get("max_seqlen"))
    _maybe_min_seqlen = property(lambda self: self._metadata_cache.get("min_seqlen"))

    @property
    def ragged_size(self) -> NestedInt:
        """The size of the ragged dimension."""
        return self._storage.cell.shape[self._ragged_idx]

    @property
    def shape(self) -> Size:
        """The size, whose ragged dimension is a `NestedInt`."""
        return size_of(self._storage.cell.shape)

    def size(self, dim: int | None = None) -> Any:
        """Return ``shape``, or one of its sizes."""
        return self.shape if dim is None else self.shape[errors.wrap_dim(dim, self.dim())]

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides of the values, behind a multiple of the ragged size."""
        inner: Any = self._held.stride()
        whole = (self.ragged_size * inner[self._ragged_idx - 1], *inner)
        return whole if dim is None else whole[errors.wrap_dim(dim, self.dim())]

    @property
    def mT(self) -> Any:
        """The last two dimensions swapped."""
        return self.transpose(-2, -1)  # type: ignore[attr-defined]

    def is_pinned(self, device: Any = None) -> bool:
        """Return whether the values' memory is page-locked."""
        return self._held.is_pinned()  # type: ignore[attr-defined]

    def numel(self) -> int:
        """Return how many values there are."""
        if self._lengths is None:
            return self._held.numel()
        fixed = [n for n in self.shape[1:] if not isinstance(n, NestedInt)]
        return int(self._lengths.sum().item()) * math.prod(fixed)  # type: ignore[attr-defined]

    nelement = numel

    def storage_offset(self) -> int:
        return self._held.storage_offset()

    def untyped_storage(self) -> Any:
        return self._held.untyped_storage()

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return whether the values lie one after another without holes."""
        if self._lengths is not None:
            return False
        if memory_format is preserve_format:
            return True
        if memory_format is None:
            return self._held.is_contiguous()  # type: ignore[attr-defined]
        return self._held.is_contiguous(memory_format=memory_format)  # type: ignore[attr-defined]

    def _is_contiguous_or_false(self) -> bool:
        return self.is_contiguous()

    def __repr__(self) -> str:
        grad_fn, said = self.grad_fn, ""
        if grad_fn is not None:
            said = f", grad_fn={grad_fn}"
        elif self.requires_grad:
            said = ", requires_grad=True"
        return (
            f"NestedTensor(size={tuple(self.shape)}, offsets={self._offsets}{said}, "
            f"contiguous={self.is_contiguous()})"
        )

    # -- others made of it -------------------------------------------------------------------------

    def _with(self, values: Tensor) -> NestedTensor:
        """Return a nested tensor of other values, divided in the same way."""
        return self._like(values, self._ragged_idx)

    def _like(self, values: Tensor, ragged_idx: int) -> NestedTensor:
        """Return a nested tensor of other values, divided in the same way along a dimension."""
        return NestedTensor(
            values,
            self._offsets,
            lengths=self._lengths,
            _ragged_idx=ragged_idx,
            _metadata_cache=self._metadata_cache,
        )

    def _of(self, parts: Sequence[Tensor], size: Any) -> NestedTensor:
        values, offsets, *lengths = parts
        return NestedTensor(
            values,
            offsets,
            lengths=lengths[0] if lengths else None,
            _ragged_idx=self._ragged_idx,
            _metadata_cache=self._metadata_cache,
        )

    def to(self, *args: Any, **kwargs: Any) -> NestedTensor:
        """Convert to another dtype or move to another device. The result is the tensor itself where
        nothing changes."""
        kwargs.pop("layout", None)
        moved = self._held.to(*args, **kwargs)  # type: ignore[attr-defined]
        return self if moved is self._held else self._with(moved)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.unbind())  # type: ignore[attr-defined]

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        """Return the names of the tensor's parts, and what else `__tensor_unflatten__` needs."""
        names = ["_values", "_offsets"] + (["_lengths"] if self._lengths is not None else [])
        return names, {
            "requires_grad": self.requires_grad,
            "ragged_idx": self._ragged_idx,
            "metadata_cache": self._metadata_cache,
        }

    @staticmethod
    def __tensor_unflatten__(
        inner: Any, meta: Any, outer_size: Any, outer_stride: Any
    ) -> NestedTensor:
        """Build a nested tensor from these parts."""
        return NestedTensor(
            inner["_values"],
            inner["_offsets"],
            lengths=inner.get("_lengths"),
            _ragged_idx=meta["ragged_idx"],
            _metadata_cache=meta.get("metadata_cache"),
        )

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        said = {
            "values": self._held,
            "offsets": self._offsets,
            "lengths": self._lengths,
            "_ragged_idx": self._ragged_idx,
            "_metadata_cache": self._metadata_cache,
            "requires_grad": self.requires_grad,
        }
        return _rebuild_njt, (said,)


def _rebuild_njt(constructor_kwargs: dict[str, Any]) -> NestedTensor:
    """Unpickle. PyTorch writes a least or greatest length as a tensor of so many rows."""
    known = constructor_kwargs.get("_metadata_cache") or {}
    numbers = {k: v.shape[0] if isinstance(v, Tensor) else v for k, v in known.items()}
    return NestedTensor(**{**constructor_kwargs, "_metadata_cache": numbers})


# As an argument or a result of a jitted function it is its values, offsets and lengths. The least
# and the greatest length are part of the program: they decide sizes.
trees.register(
    NestedTensor,
    lambda t: ([*t._storage.cell.tensors()], (t._ragged_idx, *sorted(t._facts[1].items()))),
    lambda parts, context: NestedTensor(
        parts[0],
        parts[1],
        lengths=parts[2] if len(parts) == 3 else None,
        _ragged_idx=context[0],
        _metadata_cache=dict(context[1:]),
    ),
)
