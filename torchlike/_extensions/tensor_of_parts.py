"""What sparse and nested tensors have in common: they consist of tensors, one of which holds the
values, and their gradients are those of the values."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Self

import numpy as np

from torchlike._core import errors
from torchlike._extensions import sparse_array
from torchlike.tensor import Tensor


class TensorOfParts(Tensor):
    """A tensor without memory of its own. `_held` are its values; `_with` gives the same places
    with others."""

    __module__ = "torchlike._extensions.tensor_of_parts"
    #: What messages call it, and what to call first for a dense tensor.
    _called = "a sparse tensor"
    _instead = "to_dense()"
    #: What takes gradients that are not of the values (sparse/_elsewhere.py).
    _elsewhere: Any = None

    @property
    def _held(self) -> Tensor:
        return self._storage.cell.held

    def _with(self, values: Tensor) -> Self:
        raise NotImplementedError

    def _of(self, parts: Sequence[Tensor], size: Any) -> Self:
        """Return a tensor of this kind of other tensors, which take the places of those of the
        cell."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise RuntimeError(
            errors.AMBIGUOUS_BOOL.format(
                what="more than one value" if self.numel() else "no values"
            )
            if self.numel() != 1
            else f"bool() of {self._called}: call {self._instead} first"
        )

    def __len__(self) -> int:
        return self.shape[0]

    def _refusal(self, what: str) -> str:
        """Return the message for something that does not know such tensors."""
        return sparse_array.refusal(what)

    # -- printing ----------------------------------------------------------------------------------

    def _parts_shown(self, indices: Sequence[tuple[str, Tensor]], indent: int) -> str:
        """Show the indices and values by name, one below the other, behind ``indent`` columns."""

        def part(name: str, t: Tensor) -> str:
            text = repr(t.detach())  # type: ignore[attr-defined]
            if not t.numel():
                text = f"tensor([], size={tuple(t.shape)})"
            start = " " * (len(name) + indent)
            return f"{name}=" + text.replace("\n", "\n" + start).replace(f"\n{start}\n", "\n\n")

        values = part("values", self._held).replace(f", dtype={self.dtype}", "")
        return ",\n       ".join([*(part(*named) for named in indices), values])

    def _said(self) -> list[str]:
        """Return the dtype, where printing the values would say it."""
        named = f"dtype={self.dtype}"
        return [named] if named in repr(self._held.detach()) and self._held.numel() else []  # type: ignore[attr-defined]

    def _said_of_gradients(self) -> list[str]:
        """Return the grad_fn, or that it requires grad."""
        if self._held.grad_fn is not None:
            return [f"grad_fn=<{self._held.grad_fn.name()}>"]
        return ["requires_grad=True"] if self.requires_grad else []

    # -- what a dense tensor has and this has not --------------------------------------------------

    @property
    def _geometry(self) -> Any:
        raise NotImplementedError(self._refusal("an operation that makes a view"))

    _whole_geometry = _geometry  # type: ignore[assignment]

    def _stepped(self, kind: Any, dynamic: tuple[int, ...]) -> Any:
        """Return the result of a view function in place of a view: for a step and its dynamic
        integers."""
        raise NotImplementedError(self._refusal("an operation that makes a view"))

    def _unsqueezed(self, dim: int) -> Any:
        """Return the tensor with one more dimension of size 1, in place of a view."""
        return self._stepped(None, ())

    def stride(self, dim: int | None = None) -> Any:
        """Return zeros: there is no memory to step through."""
        return (0,) * self.dim() if dim is None else 0

    def storage_offset(self) -> int:
        return 0

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return False

    def untyped_storage(self) -> Any:
        raise NotImplementedError(f"Cannot access storage of {self._called}")

    def data_ptr(self) -> int:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def _value(self, asked: str, instead: str = "") -> np.ndarray:
        raise RuntimeError(
            f"Cannot access data pointer of Tensor that doesn't have storage: {asked} of "
            f"{self._called}, call {self._instead} first"
        )

    def numpy(self, *, force: Any = False) -> np.ndarray:
        """Raise TypeError: ``to_dense()`` has to be called first."""
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.numpy()

    # -- autograd: that of the values --------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return self._held.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: Any) -> None:  # type: ignore[override]
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: Any = True) -> Self:
        """Let the values require gradients."""
        self._held.requires_grad_(requires_grad)
        return self

    @property
    def grad_fn(self) -> None:
        return self._held.grad_fn

    @property
    def is_leaf(self) -> bool:
        return self._held.is_leaf

    @property
    def grad(self) -> Any:  # type: ignore[override]
        """The gradient, at the same places."""
        elsewhere = self._elsewhere
        return self._whole_gradient(self._held.grad, None if elsewhere is None else elsewhere.grad)

    def _whole_gradient(self, values: Any, elsewhere: Any) -> Any:
        """Return this tensor's gradient, from those of its values and of its elsewhere; None for
        none."""
        return None if values is None else self._gradient_of(values)

    def _gradient_of(self, values: Tensor) -> Tensor:
        """Return this tensor's gradient, from that of its values."""
        return self._with(values)

    def _start(self, gradient: Any) -> tuple[Any, Any]:
        """Return the tensor at which backward starts for a gradient of this one (its values), and
        the gradient to start with."""
        return self._held, gradient._held if isinstance(gradient, TensorOfParts) else gradient

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            raise NotImplementedError(f".grad of {self._called} can only be set to None")
        del self.grad

    @grad.deleter
    def grad(self) -> None:
        self._held.grad = None
        if self._elsewhere is not None:
            self._elsewhere.grad = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if not self.is_leaf:
            raise RuntimeError(errors.DEEPCOPY_NON_LEAF)
        parts = [deepcopy(part, memo) for part in self._storage.cell.tensors()]
        copy = memo[id(self)] = self._of(parts, self.shape)
        return copy

    def detach(self) -> Self:
        """Return the tensor without autograd history."""
        return self._with(self._held.detach())

    _alias = detach

    @property
    def data(self) -> Self:  # type: ignore[override]
        """The same without history."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, type(self)):
            raise NotImplementedError(self._refusal("data = a tensor of another kind"))
        self._storage.write(value.detach()._storage.cell)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def detach_(self) -> Self:
        """Drop the autograd history."""
        self._storage.cell = self.detach()._storage.cell
        return self

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        """Accumulate the gradient of this tensor, which is given, into the leaves. RuntimeError
        without one: reduce to a dense scalar first."""
        if gradient is None:
            raise RuntimeError(errors.IMPLICIT_GRADIENT)
        super().backward(gradient, *args, **kwargs)  # type: ignore[misc]

    # -- conversions -------------------------------------------------------------------------------

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Return the tensor with another dtype or on another device."""
        return self._with(self._held.to(*args, **kwargs))

    def cpu(self, memory_format: Any = None) -> Self:
        """Return the tensor on the host."""
        return self.to("cpu")
