"""Names of sparse tensors on dense ones, where PyTorch has them too: they raise, or convert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES, composite
from torchlike._ops.linalg.sparse_products import uncompressed_indices
from torchlike.sparse._geometry import own_method
from torchlike.sparse._kinds import name_of
from torchlike.sparse._tensor import SparseTensor
from torchlike.tensor import Tensor


def _refusing(name: str, layout: str) -> Callable[[Tensor], Any]:
    def method(self: Tensor) -> Any:
        if own := own_method(self, name):
            return own(self)
        raise RuntimeError(f"{name} expected {layout} tensor layout but got {name_of(self.layout)}")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"RuntimeError: this tensor is of another layout than has ``{name}``."
    return method


for _name in ("coalesce", "indices"):
    composite(_name, namespaces=())(_refusing(_name, "sparse coordinate"))
composite("values", namespaces=())(_refusing("values", "sparse"))
for _name, _of in (
    ("crow_indices", "row"),
    ("col_indices", "row"),
    ("ccol_indices", "column"),
    ("row_indices", "column"),
):
    composite(_name, namespaces=())(_refusing(_name, f"sparse {_of} compressed"))


@composite(namespaces=())
def to_sparse_coo(self: Tensor) -> SparseTensor:
    """Convert to coordinate form, without the zeros: ``to_sparse()``."""
    converted: Any = self
    return converted.to_sparse()


@composite(namespaces=())
def sparse_dim(self: Tensor) -> int:
    """Return the number of sparse dimensions: 0 for a dense tensor."""
    own = own_method(self, "sparse_dim")
    return own(self) if own else 0


@composite(namespaces=())
def dense_dim(self: Tensor) -> int:
    """Return the number of dense dimensions: all those of a dense tensor."""
    own = own_method(self, "dense_dim")
    return own(self) if own else self.dim()


@composite(aliases=("dsmm",), method=False)
def spmm(input: Any, mat2: Any) -> Tensor:
    """Multiply two matrices, of which one may be sparse; ``dsmm`` is its older name."""
    return input @ mat2


@composite(method=False)
def native_norm(
    input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """Compute ``norm``, under the name by which it takes sparse tensors in PyTorch."""
    return NAMESPACES[""]["norm"](input, p, dim, keepdim, dtype=dtype)


@composite(namespaces=())
def reinforce(self: Tensor, reward: Any) -> None:
    """Raise RuntimeError: the method was removed; ``torch.distributions`` has ``log_prob``."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead: "
        "loss = -distribution.log_prob(action) * reward; loss.backward()"
    )


@composite(method=False)
def _convert_indices_from_coo_to_csr(input: Any, size: int, *, out_int32: bool = False) -> Tensor:
    """Return where each of ``size`` rows begins in sorted row indices (nnz,): (size + 1,)."""
    begins = NAMESPACES[""]["searchsorted"](input, NAMESPACES[""]["arange"](size + 1).to(input))
    return begins.to(dtypes.int32 if out_int32 else dtypes.int64)


@composite(method=False)
def _convert_indices_from_csr_to_coo(
    crow_indices: Any, col_indices: Any, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Return the rows and columns (2, nnz) of a matrix in CSR, or the columns and rows if
    ``transpose``."""
    rows = uncompressed_indices(crow_indices, col_indices.shape[-1])
    both = (col_indices, rows) if transpose else (rows, col_indices)
    dtype = dtypes.int32 if out_int32 else dtypes.int64
    return NAMESPACES[""]["stack"]([index.to(dtype) for index in both])
