"""What view functions give of sparse tensors, which have no memory to be seen in another way.

Each view function ends in a step (`_core/views/steps.py`). A sparse tensor knows some kinds of
steps: then it makes another sparse tensor on its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._core.views import Alias, Conj, Permute, Select, SizeAlone, Step
from torchlike._extensions.tensor_of_parts import TensorOfParts
from torchlike.sparse._elsewhere import as_it_is, follow, in_coordinates, joined, leaf_of
from torchlike.tensor import Tensor

_VIEW = "an operation that makes a view"


def own_method(t: Tensor, name: str) -> Any:
    """Return the method of a tensor's class, for ``Tensor.name(t)``, or None where it is
    Tensor's."""
    found = getattr(type(t), name)
    return None if found is getattr(Tensor, name) else found


class WithoutMemory(TensorOfParts):
    """A tensor of parts whose dimensions can be reordered, selected and added."""

    __module__ = "torchlike.sparse._geometry"

    @property
    def _elsewhere(self) -> Any:  # type: ignore[override]
        return self._storage.cell.elsewhere

    def requires_grad_(self, requires_grad: Any = True) -> Any:
        """Let the values require gradients, and the places where there are none."""
        was = self.requires_grad
        super().requires_grad_(requires_grad)
        if not self.requires_grad:
            self._storage.cell.elsewhere = None
        elif not was:
            self._become_leaf()
        return self

    def _become_leaf(self) -> Any:
        """Take gradients of the whole size: not for values that are a leaf of the user's."""
        if self.dtype.is_floating_point or self.dtype.is_complex:
            self._storage.cell.elsewhere = leaf_of(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Convert to another dtype or move to another device."""
        return follow(super().to(*args, **kwargs), [self], lambda _: as_it_is)

    def _whole_gradient(self, values: Any, elsewhere: Any) -> Any:
        return joined(self, values, elsewhere)

    def _in_own_layout(self, gradient: Any) -> Any:
        """Convert a gradient in coordinates to this tensor's layout."""
        return gradient

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copy: Any = super().__deepcopy__(memo)
        return copy if self._elsewhere is None else copy._become_leaf()

    @property
    def _geometry(self) -> Any:
        return SizeAlone(tuple(self.shape), self._refusal(_VIEW))

    _whole_geometry = _geometry  # type: ignore[assignment]

    def _stepped(self, kind: Step, dynamic: tuple[int, ...]) -> Any:
        if type(kind) is Permute:
            return self._permuted(kind.params[0])
        if type(kind) is Select:
            return self._selected(kind.params[0], *dynamic)
        if type(kind) is Alias:
            return follow(self._with(self._held), [self], lambda _: as_it_is)
        if type(kind) is Conj:
            conjugate: Any = self._held
            return follow(self._with(conjugate.conj()), [self], lambda _: lambda g: g.conj())
        raise NotImplementedError(self._refusal(_VIEW))

    def _permuted(self, dims: tuple[int, ...]) -> Any:
        """Permute the dimensions."""
        raise NotImplementedError

    def coordinates(self) -> tuple[Tensor, Tensor]:
        """Return indices (sparse dimensions, n) and values (n, *dense sizes) of every element."""
        raise NotImplementedError

    def _start(self, gradient: Any) -> tuple[Any, Any]:
        """Return the tensor at which backward starts with a gradient of this tensor, and the
        gradient: at its values with those of the gradient, or elsewhere with all of it.

        RuntimeError for another size. NotImplementedError for what would be lost: a dense gradient,
        or one that has elements where this tensor has none, and nothing that takes them.
        """
        if not isinstance(gradient, Tensor):
            return self._held, gradient
        if tuple(gradient.shape) != tuple(self.shape):
            raise RuntimeError(
                f"Mismatch in shape: the gradient has a shape of {gradient.shape} and the sparse "
                f"output has a shape of {self.shape}."
            )
        is_dense = not isinstance(gradient, WithoutMemory)
        if is_dense and self._elsewhere is not None:
            return self._elsewhere, gradient
        if is_dense:
            raise NotImplementedError(
                "a dense gradient of a sparse output: use gradient.sparse_mask(output), or make "
                "the output dense with to_dense() before"
            )
        mine, theirs = self.coordinates()[0], gradient.coordinates()[0]
        if mine is theirs and type(self) is type(gradient):
            return self._held, gradient._held
        if not _within(theirs, mine, self.shape):
            if self._elsewhere is not None:
                return self._elsewhere, in_coordinates(gradient)
            raise NotImplementedError(
                "a gradient of a sparse output with elements where the output has none: they would "
                "be lost. Make the output dense with to_dense() before"
            )
        at_my_places: Any = gradient.sparse_mask(self)  # type: ignore[attr-defined]
        return self._held, at_my_places._held

    def _selected(self, dim: int, index: int) -> Tensor:
        """Select one index of a dimension: sparse, or dense where no sparse dimension is left."""
        raise NotImplementedError

    def __getitem__(self, index: Any) -> Any:
        """Index by numbers, None, ``...`` and whole slices."""
        given = [*index] if isinstance(index, tuple) else [index]
        if any(isinstance(i, (Tensor, list)) for i in given):
            raise NotImplementedError(self._refusal("indexing by tensors"))
        if Ellipsis in given:
            at = given.index(Ellipsis)
            named = sum(i is not None for i in given) - 1
            given[at : at + 1] = [slice(None)] * (self.dim() - named)
        found: Any = self
        dim = 0
        for i in given:
            if isinstance(found, TensorOfParts) and isinstance(i, slice) and i != slice(None):
                self._refuse_slice()
            if isinstance(i, slice):
                found = found[(slice(None),) * dim + (i,)] if type(found) is Tensor else found
                dim += 1
            elif i is None:
                found, dim = found.unsqueeze(dim), dim + 1
            else:
                found = found.select(dim, i)
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        """Raise TypeError: make another tensor, or write into its values."""
        raise TypeError("Cannot assign to a sparse tensor")

    def backward(
        self,
        gradient: Any = None,
        retain_graph: Any = None,
        create_graph: Any = False,
        inputs: Any = None,
    ) -> None:
        """Run backward from a gradient of this size, of which the places of this tensor count where
        it is made of values with a history. Raises RuntimeError without one."""
        if gradient is None or self._elsewhere is not None:
            super().backward(gradient, retain_graph, create_graph, inputs)
            return
        held: Any = self._held
        held.backward(gradient.sparse_mask(self)._held, retain_graph, create_graph, inputs)

    def _refuse_slice(self) -> None:
        raise NotImplementedError(self._refusal("indexing by slices"))


def _within(places: Tensor, others: Tensor, size: Sequence[int]) -> bool:
    """Return whether each of the places is among the others; both are indices (sparse dimensions,
    n)."""
    sizes = tuple(size[: places.shape[0]])
    if places.shape[0] != others.shape[0]:
        return False
    if not places.shape[1]:
        return True
    one, other = (np.ravel_multi_index(tuple(t.numpy()), sizes) for t in (places, others))
    return bool(np.isin(one, other).all())
