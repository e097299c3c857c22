"""``torch.sparse.FloatTensor`` and its kin: sparse tensors by dtype, as scripts wrote them before
``sparse_coo_tensor``."""

from __future__ import annotations

from typing import Any

from torchlike._core import dtypes
from torchlike.sparse._tensor import SparseTensor, sparse_coo_tensor
from torchlike.tensor import Tensor

_DTYPES = (
    dtypes.float32,
    dtypes.float64,
    dtypes.float16,
    dtypes.bfloat16,
    dtypes.uint8,
    dtypes.int8,
    dtypes.int16,
    dtypes.int32,
    dtypes.int64,
)
_COMBINATIONS = (
    "new() received an invalid combination of arguments - got ({}), but expected one of:\n"
    " * (*, torch.device device = None)\n"
    " * (Tensor indices, Tensor values, *, torch.device device = None)\n"
    " * (Tensor indices, Tensor values, tuple of ints size, *, torch.device device = None)\n"
    " * (tuple of ints size, *, torch.device device = None)\n"
)


class SparseTensorType(type):
    """A class without instances of its own: calling it makes a sparse tensor, and ``isinstance``
    asks for one of its dtype."""

    dtype: dtypes.dtype

    def __call__(
        cls,
        *args: Any,
        indices: Any = None,
        values: Any = None,
        size: Any = None,
        device: Any = None,
    ) -> SparseTensor:
        """Make ``FloatTensor(indices, values, size)``, ``FloatTensor(2, 3)`` (a size) or
        ``FloatTensor()``. The values given keep their own dtype, as in PyTorch."""
        if not args or isinstance(args[0], Tensor):
            if args or values is not None:
                return cls._of_values(args, indices, values, size, device)
            args = ((0,) if size is None else size,)
        shape = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        if any(not isinstance(n, int) for n in shape):
            raise TypeError(_COMBINATIONS.format(_kinds(args)))
        return sparse_coo_tensor(size=shape, dtype=cls.dtype, device=device)

    def _of_values(
        cls, args: tuple[Any, ...], indices: Any, values: Any, size: Any, device: Any
    ) -> SparseTensor:
        named = [given for given in (indices, values, size) if given is not None]
        parts = [*args, *named]
        fit = len(parts) in (2, 3) and isinstance(parts[0], Tensor) and isinstance(parts[1], Tensor)
        if not fit or (len(parts) == 3 and not isinstance(parts[2], (tuple, list))):
            raise TypeError(_COMBINATIONS.format(_kinds(parts)))
        if parts[0].dtype is not dtypes.int64:
            raise RuntimeError("indices must be an int64 tensor")
        return sparse_coo_tensor(*parts, device=device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, SparseTensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


def _kinds(args: Any) -> str:
    return ", ".join(type(arg).__name__ for arg in args)


SPARSE_TENSOR_TYPES = {
    f"{dtypes.scalar_type(dtype)}Tensor": SparseTensorType(
        f"{dtypes.scalar_type(dtype)}Tensor",
        (),
        {"dtype": dtype, "__module__": "torchlike.sparse"},
    )
    for dtype in _DTYPES
}
