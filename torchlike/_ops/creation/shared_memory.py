"""Tensors in memory that other processes see."""

from __future__ import annotations

from collections.abc import Iterable

from torchlike._core.dispatch.registry import composite
from torchlike._core.storage import Storage
from torchlike._extensions.sparse_array import KINDS
from torchlike._runtime import shared_memory
from torchlike.tensor import Tensor


@composite(namespaces=())
def share_memory_(input: Tensor) -> Tensor:
    """Move the tensor's memory to where the processes that it is sent to see each other's writes,
    and return the tensor.

    So do forked processes, and all tensors on the same memory move with it; NumPy arrays made of
    the tensor before do not. Nothing where it is shared already or on an accelerator. RuntimeError
    where there is no memory for it or on the meta device; NotImplementedError for a sparse one.
    """
    share([input])
    return input


@composite(namespaces=())
def is_shared(input: Tensor) -> bool:
    """Return whether the memory is shared with other processes, or would be with those that the
    tensor is sent to. True on accelerators, as in PyTorch. NotImplementedError for a sparse
    tensor."""
    if input.is_meta:
        return False
    storage = _storage(input)
    return storage is None or storage.is_shared()


def share(tensors: Iterable[Tensor]) -> None:
    """Move several tensors into shared memory: one block, which costs one open file.

    Those on accelerators stay there. NotImplementedError for a sparse tensor, RuntimeError for one
    on the meta device.
    """
    found = {id(s): s for s in map(_storage, tensors) if s is not None and not s.is_shared()}
    sizes = [shared_memory.aligned(storage.nbytes) for storage in found.values()]
    if not sizes:
        return
    block = shared_memory.allocate(sum(sizes))
    start = 0
    for storage, size in zip(found.values(), sizes, strict=True):
        storage.share_with_processes(block, start)
        start += size


def _storage(t: Tensor) -> Storage | None:
    """Return the storage of a tensor that is to be shared; None on an accelerator."""
    if type(t._storage.cell) in KINDS:
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")
    if t.is_meta:
        raise RuntimeError("_share_fd_: only available on CPU")
    return t._storage if t.is_cpu else None
