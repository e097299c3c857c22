"""A nested tensor in the strided layout: parts of any sizes with the same number of dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from torchlike._core import errors
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._core.layouts import strided
from torchlike._extensions.parts_array import PartsArray
from torchlike._extensions.parts_storage import PartsStorage
from torchlike._runtime import trees
from torchlike.nested._internal.base import Nested, Rules, hooked, retained
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]
_INTERNAL = "Internal error: NestedTensorImpl doesn't support {}. Please file an issue."


class StridedNestedTensor(Nested):
    """The elements of all parts one after another, and the size of each part.

    Differs from PyTorch: it is a subclass of Tensor, and its parts are always contiguous:
    ``transpose`` copies.

    Attributes:
      _drawn_along: how to permute a part into the order in which its elements lie in PyTorch's
        memory, where ``transpose`` makes views: random numbers are drawn in it. None for the order
        there is.
    """

    __module__ = "torchlike.nested._internal.strided"
    layout: Any = strided
    rules: ClassVar[Rules] = {"register_hook": hooked, "retain_grad": retained}
    _drawn_along: tuple[int, ...] | None = None

    def __new__(cls, buffer: Tensor, sizes: Sequence[tuple[int, ...]]) -> StridedNestedTensor:
        known = tuple(map(tuple, sizes))
        shape = (
            (len(known), *(_common([s[d] for s in known]) for d in range(len(known[0]))))
            if (known)
            else (0,)
        )
        return cls._on(PartsStorage(PartsArray(buffer, (), shape, known)))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: ``__new__`` has done all."""

    @classmethod
    def of(cls, tensors: Sequence[Any]) -> StridedNestedTensor:
        """Return a nested tensor of these parts, which are copied."""
        sizes = [tuple(t.shape) for t in tensors]
        if not sizes:
            return cls(_torch["zeros"](0), sizes)
        return cls(_torch["cat"]([t.reshape(-1) for t in tensors]), sizes)

    # -- what it is --------------------------------------------------------------------------------

    @property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        """The size of each part."""
        return self._facts

    def tensors(self) -> tuple[Any, ...]:
        """Return the parts, which are views of the elements."""
        ends: Any = self._held
        pieces = ends.split([math.prod(s) for s in self.sizes])
        return tuple(p.view(s) for p, s in zip(pieces, self.sizes, strict=True))

    def values(self) -> Tensor:
        """Return the elements of all parts (total,)."""
        return self._held.view_as(self._held)  # type: ignore[attr-defined]

    def size(self, dim: int | None = None) -> Any:
        """Return the size of a dimension in which all parts agree. Raises RuntimeError for
        others."""
        if dim is None:
            raise RuntimeError(_INTERNAL.format("sizes"))
        at = errors.wrap_dim(dim, self.dim())
        found = self._storage.cell.shape[at]
        if found < 0:
            raise RuntimeError(f"Given dimension {at} is irregular and does not have a size.")
        return found

    @property
    def shape(self) -> Any:
        """RuntimeError: there is none."""
        return self.size()

    def stride(self, dim: int | None = None) -> Any:
        """Raise RuntimeError: there are no strides."""
        raise RuntimeError(_INTERNAL.format("strides"))

    def __len__(self) -> int:
        return self.size()

    def numel(self) -> int:
        """Return how many elements all parts have."""
        return self._held.numel()

    nelement = numel

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return True

    def _nested_tensor_size(self) -> Tensor:
        """Return the sizes (n, dimensions of a part)."""
        return _torch["tensor"](list(self.sizes))

    def _nested_tensor_strides(self) -> Tensor:
        """Return the strides of each part (n, dimensions of a part)."""
        return _torch["tensor"](
            [[math.prod(s[d + 1 :]) for d in range(len(s))] for s in self.sizes]
        )

    def _nested_tensor_storage_offsets(self) -> Tensor:
        """Return where each part begins among the elements (n,)."""
        ends = itertools.accumulate(map(math.prod, self.sizes))
        return _torch["tensor"]([0, *ends][:-1])

    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged."""
        return self.transpose(-2, -1)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        def part(t: Tensor) -> str:
            shown = repr(t.detach().requires_grad_(self.requires_grad))  # type: ignore[attr-defined]
            return "  " + shown.replace("\n", "\n  ")

        grad_fn, said = self.grad_fn, ""
        if grad_fn is not None:
            said = f", grad_fn=<{grad_fn.name()}>"
        elif self.requires_grad:
            said = ", requires_grad=True"
        listed = ",\n".join(map(part, self.tensors()))
        return f"nested_tensor([\n{listed}\n]{said})"

    def _with(self, values: Tensor) -> StridedNestedTensor:
        return StridedNestedTensor(values, self.sizes)._along(self._drawn_along)

    def _along(self, order: tuple[int, ...] | None) -> StridedNestedTensor:
        """Record the order of PyTorch's memory, where it is another, and return the tensor
        itself."""
        if order is not None and order != tuple(range(len(order))):
            self._drawn_along = order
        return self

    def _of(self, parts: Sequence[Tensor], size: Any) -> StridedNestedTensor:
        return StridedNestedTensor(parts[0], self.sizes)

    def to(self, *args: Any, **kwargs: Any) -> StridedNestedTensor:
        """Convert to another dtype or move to another device. The result is the tensor itself where
        nothing changes."""
        moved = self._held.to(*args, **kwargs)  # type: ignore[attr-defined]
        return self if moved is self._held else self._with(moved)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.tensors())

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (self._held, self.sizes, self.requires_grad)


def _common(sizes: list[int]) -> int:
    return sizes[0] if len(set(sizes)) == 1 else -1


def _rebuild(buffer: Tensor, sizes: Any, requires_grad: bool) -> StridedNestedTensor:
    """Unpickle."""
    made = StridedNestedTensor(buffer, sizes)
    return made.requires_grad_(requires_grad)


# As an argument or a result of a jitted function it is its elements; sizes are part of the program.
trees.register(
    StridedNestedTensor,
    lambda t: ([t._held], (t.sizes, t._drawn_along)),
    lambda parts, context: StridedNestedTensor(parts[0], context[0])._along(context[1]),
)
