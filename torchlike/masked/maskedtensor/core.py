"""``MaskedTensor``: data, and a mask of what of it counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from typing_extensions import TypeIs

from torchlike._core import dtypes, overrides
from torchlike._core.layouts import sparse_coo, sparse_csr, strided
from torchlike._extensions import parts_array
from torchlike._extensions.overrides import protocol
from torchlike._extensions.parts_array import PartsArray
from torchlike._extensions.parts_storage import PartsStorage
from torchlike._extensions.tensor_of_parts import TensorOfParts
from torchlike._runtime import trees
from torchlike._runtime.function_objects import first_of
from torchlike.tensor import Tensor

__all__ = ["MaskedTensor", "is_masked_tensor"]

_PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. "
    "Please open a Github issue for features requests and see our documentation on the "
    "torch.masked module for further information about the project."
)
_WITH_GRADIENT = (
    "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid "
    "this, you can use data.detach().clone()"
)
_DTYPES = (
    dtypes.float16,
    dtypes.float32,
    dtypes.float64,
    dtypes.bool,
    dtypes.int8,
    dtypes.int16,
    dtypes.int32,
    dtypes.int64,
)
#: What public functions do with masked tensors, by their names: filled by rules.py.
RULES: dict[str, Callable[..., Any]] = {}


def is_masked_tensor(obj: Any, /) -> TypeIs[MaskedTensor]:
    """Return whether an object is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def _tensors_match(
    a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08
) -> bool:
    """Return whether two tensors of one layout are the same, or unless ``exact``, close. Raises
    ValueError for tensors of several layouts or, if exact, dtypes."""
    if a.layout is not b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    dtype = a.dtype
    if exact and dtype is not b.dtype:
        raise ValueError(f"`a` and `b` must have the same dtype. Got {dtype} and {b.dtype}")
    b = b.to(dtype)
    return a.dim() == b.dim() and all(
        tuple(x.shape) == tuple(y.shape)
        and bool((x == y).all().item() if exact else x.allclose(y, rtol, atol, equal_nan=True))
        for x, y in zip(_places(a, True), _places(b, True), strict=True)
    )


def _masks_match(a: Any, b: Any) -> bool:
    """Return whether two tensors have one mask, where both have any."""
    if isinstance(a, MaskedTensor) and isinstance(b, MaskedTensor):
        return _tensors_match(a._masked_mask, b._masked_mask)
    return True


def _places(t: Any, values: bool = False) -> tuple[Any, ...]:
    """Return the indices of a sparse tensor, and its values; the tensor itself where it is
    dense."""
    if t.layout is sparse_coo:
        return (t.indices(), t.values()) if values else (t.indices(),)
    if t.layout is sparse_csr:
        indices = (t.crow_indices(), t.col_indices())
        return (*indices, t.values()) if values else indices
    return (t,) if values else ()


def _check(data: Any, mask: Any) -> None:
    """Raise TypeError or ValueError, in PyTorch's words, for data and mask that do not fit."""
    if data.layout not in (strided, sparse_coo, sparse_csr):
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if mask.dtype is not dtypes.bool:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if tuple(data.shape) != tuple(mask.shape):
        raise ValueError("data.size() must equal mask.size()")
    if data.layout is not strided and not all(
        tuple(x.shape) == tuple(y.shape) and bool((x == y).all().item())
        for x, y in zip(_places(data), _places(mask), strict=True)
    ):
        raise ValueError(
            "data and mask are both sparse COO tensors but do not have the same indices."
            if data.layout is sparse_coo
            else "data and mask are both sparse CSR tensors but do not share either crow or col "
            "indices."
        )


class MaskedTensor(TensorOfParts):
    """Data and a mask of its size, True where an element counts. Both are copied.

    TypeError for what is no tensor, for a mask that is not bool, and for layouts and dtypes that
    PyTorch does not take; ValueError for sizes that differ.

    Differs from PyTorch: functions without a rule raise NotImplementedError rather than TypeError,
    and some have a rule that PyTorch has none for.
    """

    __module__ = "torchlike.masked.maskedtensor.core"
    _called = "a masked tensor"
    _instead = "to_tensor()"

    def __new__(cls, data: Any, mask: Any, requires_grad: Any = False) -> MaskedTensor:
        for name, t in (("data", data), ("mask", mask)):
            if isinstance(t, MaskedTensor) or not isinstance(t, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        warnings.warn(_PROTOTYPE, UserWarning, stacklevel=2)
        if data.requires_grad:
            warnings.warn(_WITH_GRADIENT, UserWarning, stacklevel=2)
        made = cls._of_values(data.detach(), mask)
        return made.requires_grad_() if requires_grad else made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: ``__new__`` has done all."""

    @classmethod
    def _of_values(cls, data: Any, mask: Any) -> MaskedTensor:
        """Make a masked tensor of copies; gradients flow to the data."""
        if data.layout is not mask.layout:
            raise TypeError("data and mask must have the same layout.")
        if data.layout is sparse_coo:
            data, mask = data.coalesce(), mask.coalesce()
        _check(data, mask)
        return cls._build(data.clone(), mask.detach().clone())

    @classmethod
    def _build(cls, data: Any, mask: Any) -> MaskedTensor:
        """Make a masked tensor of these very tensors."""
        return cls._on(PartsStorage(PartsArray(data, (mask,), data.shape, None)))

    @staticmethod
    def _from_values(data: Any, mask: Any) -> MaskedTensor:
        """Make the masked tensor that ``as_masked_tensor`` gives."""
        return MaskedTensor._of_values(data, mask)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> overrides.Result:
        """Apply the rule for the function's name. Raises NotImplementedError where there is
        none."""
        if not all(issubclass(kind, Tensor) for kind in types):
            return NotImplemented
        names = getattr(func, "__name__", ""), getattr(first_of(func), "__name__", "")
        with overrides.DisableTorchFunctionSubclass():
            for name in names:
                if name in RULES:
                    return RULES[name](func, *args, **(kwargs or {}))
            if set(names) & _PLAIN:
                return func(*args, **(kwargs or {}))
        said = f"{protocol.name_of(func)}()"
        raise NotImplementedError(parts_array.refusal(said, *_WORDS))

    # -- what it is --------------------------------------------------------------------------------

    @property
    def _masked_data(self) -> Tensor:
        return self._held

    @property
    def _masked_mask(self) -> Any:
        return self._storage.cell.parts[0]

    @property
    def layout(self) -> Any:
        return self._held.layout

    def get_data(self) -> Any:
        """Return the data, including what the mask hides; gradients flow through it."""
        held: Any = self._held
        return held.view_as(held) if self.layout is strided else held

    def get_mask(self) -> Any:
        """Return the mask."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Any:
        """Return the data, with a value where the mask hides it."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        return self.layout is not strided

    def is_sparse_coo(self) -> bool:
        """Return whether data and mask are in coordinate form."""
        return self.layout is sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Return whether data and mask are in CSR."""
        return self.layout is sparse_csr

    def stride(self, dim: int | None = None) -> Any:
        """Return the data's strides."""
        held: Any = self._held
        return held.stride() if dim is None else held.stride(dim)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Return whether the data is contiguous. Raises ValueError for sparse data."""
        if self.is_sparse:
            raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
        return self._held.is_contiguous()  # type: ignore[attr-defined]

    def item(self) -> Any:
        """Return the single element. Raises ValueError where the mask hides it."""
        if self.numel() == 1 and not self._masked_mask.item():
            raise ValueError("item(): the mask hides the element")
        return self._held.item()  # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __iter__(self) -> Iterator[MaskedTensor]:
        return iter(self.unbind())  # type: ignore[attr-defined]

    def tolist(self) -> Any:
        """Raise RuntimeError, as in PyTorch."""
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got MaskedTensor")

    def numpy(self, *, force: Any = False) -> np.ndarray:
        """Raise RuntimeError, as in PyTorch."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def _refusal(self, what: str) -> str:
        return parts_array.refusal(what, *_WORDS)

    def __repr__(self) -> str:
        data, mask = self._held.detach(), self._masked_mask  # type: ignore[attr-defined]
        if self.is_sparse:
            data, mask = data.to_dense(), mask.to_dense()
        if not self.dim():
            shown = _shown(data.item()) if mask.item() else "--"
            return f"MaskedTensor({shown}, {mask.item()})"
        lines = _lines(data, mask).replace("\n", "\n  ")
        return f"MaskedTensor(\n  {lines}\n)"

    # -- others made of it -------------------------------------------------------------------------

    def _with(self, values: Tensor) -> MaskedTensor:
        """Return a masked tensor of other data under the same mask."""
        return MaskedTensor._build(values, self._masked_mask)

    def _of(self, parts: Sequence[Tensor], size: Any) -> MaskedTensor:
        return MaskedTensor._build(*parts)

    def to(self, *args: Any, **kwargs: Any) -> MaskedTensor:
        """Convert to another dtype or move to another device. The result is the tensor itself where
        nothing changes."""
        moved = self._held.to(*args, **kwargs)  # type: ignore[attr-defined]
        return self if moved is self._held else self._with(moved)

    def backward(
        self,
        gradient: Any = None,
        retain_graph: Any = None,
        create_graph: Any = False,
        inputs: Any = None,
    ) -> None:
        """Accumulate gradients into the leaves."""
        given = gradient._held if isinstance(gradient, MaskedTensor) else gradient
        self._held.backward(given, retain_graph, create_graph, inputs)  # type: ignore[attr-defined]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (self._held, self._masked_mask, self.requires_grad)


_WORDS = "masked tensors", "get_data(), or to_tensor()"
#: Functions that ask a tensor what it is, and need no rule.
_PLAIN_TEXT = """
    __get__ __set__ __delete__ is_floating_point is_complex is_tensor element_size type get_device
    is_signed is_inference is_conj is_neg dim ndimension size numel nelement __len__ __hash__
    __repr__ __str__ __format__ __reduce_ex__ __deepcopy__ requires_grad_ grad backward"""
_PLAIN = frozenset(_PLAIN_TEXT.split())


def _rebuild(data: Tensor, mask: Tensor, requires_grad: bool) -> MaskedTensor:
    """Unpickle."""
    made = MaskedTensor._build(data, mask)
    return made.requires_grad_(requires_grad)


def _shown(element: Any) -> str:
    return f"{element:8.4f}" if isinstance(element, float) else str(element)


def _lines(data: Any, mask: Any) -> str:
    """Write the elements in rows, "--" where the mask hides them."""
    if data.dim() > 1:
        rows = [_lines(d, m).replace("\n", "\n  ") for d, m in zip(data, mask, strict=True)]
        return "[\n" + ",\n".join(f"  {row}" for row in rows) + "\n]"
    shown = mask.tolist()
    texts = [_shown(x) for x in data.tolist()]
    width = max((len(t) if m else 8 for t, m in zip(texts, shown, strict=True)), default=0)
    parts = [t if m else "--".rjust(width) for t, m in zip(texts, shown, strict=True)]
    return "[" + ", ".join(parts) + "]"


# As an argument or a result of a jitted function it is its data and mask.
trees.register(
    MaskedTensor,
    lambda t: ([t._held, t._masked_mask], ()),
    lambda parts, context: MaskedTensor._build(*parts),
)
