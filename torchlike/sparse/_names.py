"""Names of sparse tensors on dense ones, where PyTorch has them too: they raise, or convert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core.tensor import Tensor
from torchlike._dispatch.registry import composite
from torchlike.sparse._kinds import name_of
from torchlike.sparse._tensor import SparseTensor


def _refusing(name: str, layout: str) -> Callable[[Tensor], Any]:
    def method(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected {layout} tensor layout but got {name_of(self.layout)}")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"RuntimeError: this tensor is of another layout than has ``{name}``."
    return method


for _name in ("coalesce", "indices"):
    composite(_name, namespaces=())(_refusing(_name, "sparse coordinate"))
composite("values", namespaces=())(_refusing("values", "sparse"))
for _name, _of in (("crow_indices", "row"), ("col_indices", "row"), ("ccol_indices", "column"),
                   ("row_indices", "column")):  # fmt: skip
    composite(_name, namespaces=())(_refusing(_name, f"sparse {_of} compressed"))


@composite(namespaces=())
def to_sparse_coo(self: Tensor) -> SparseTensor:
    """What is not zero in coordinate form: ``to_sparse()``."""
    converted: Any = self
    return converted.to_sparse()


@composite(namespaces=())
def sparse_dim(self: Tensor) -> int:
    """0: a dense tensor has no dimension with indices."""
    return 0


@composite(namespaces=())
def dense_dim(self: Tensor) -> int:
    """How many dimensions it has."""
    return self.dim()


@composite(aliases=("dsmm",), method=False)
def spmm(input: Any, mat2: Any) -> Tensor:
    """A matrix product, of which a matrix may be sparse; ``dsmm`` is its older name."""
    return input @ mat2


@composite(namespaces=())
def reinforce(self: Tensor, reward: Any) -> None:
    """RuntimeError: it went away; ``torch.distributions`` has ``log_prob``."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead: "
        "loss = -distribution.log_prob(action) * reward; loss.backward()"
    )
