"""resize_, resize_as_, set_: a tensor gets another size, other memory, or both.

A size that fits into the memory is geometry: nothing moves, and tensors that share the memory go on
sharing it. For a larger one the memory grows, and every tensor on it keeps its place in it.
"""

from __future__ import annotations

import math
from sys import getrefcount
from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, errors, layouts, modes, views
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import require_tensor
from torchlike._core.errors import allocating, check_bytes
from torchlike._core.storage import SOLE_ATTRIBUTE, Storage
from torchlike._core.tape import check_inference
from torchlike._core.views import Geometry, View, step
from torchlike._extensions.meta import MetaArray
from torchlike._extensions.sharing import tensors_on
from torchlike._extensions.untyped_storage import UntypedStorage
from torchlike._ops.creation import determinism
from torchlike._ops.creation.filled import empty
from torchlike._ops.memory_order import suggested_order
from torchlike._ops.shape.views import shape_arguments
from torchlike._ops.shape.views.strided import whole_memory
from torchlike.tensor import Tensor, add_method


@composite(namespaces=())
def resize_(input: Tensor, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Change the size in place; elements stay where they lie in memory, new memory is as ``empty``
    has it.

    TypeError where no size is given. RuntimeError for a tensor that requires grad, for a negative
    size, a size that overflows, and where NumPy sees the memory and it would have to grow.
    """
    # Counted before anything else here refers to the storage.
    alone = getrefcount(input._storage) == SOLE_ATTRIBUTE
    sizes = sizes or (() if size is None else (size,))
    if not sizes:
        raise TypeError('resize_() missing 1 required positional arguments: "size"')
    try:
        shape = shape_arguments(sizes)
    except TypeError:
        raise TypeError(
            "resize_(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(sizes[0]).__name__}"
        ) from None
    check_inference(input)
    if input.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if memory_format is layouts.preserve_format:
        raise RuntimeError("Unsupported memory format Preserve")
    if any(n < 0 for n in shape):
        raise RuntimeError(f"resize_ with a negative dimension: {list(shape)}")
    if shape != input.shape or memory_format is not None:
        check_bytes(shape, input.dtype.itemsize)
        order = (memory_format or layouts.contiguous_format).order_of_new(len(shape))
        _resize(input, shape, order, alone)
    return input


@composite(other_names={"the_template": "other"})
def resize_as_(input: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """Resize to ``other.size()``; with ``preserve_format`` in the memory order of ``other``."""
    require_tensor(input, "resize_as_")
    require_tensor(other, "resize_as_", "the_template", 2)
    if memory_format is layouts.preserve_format:
        of_images = {4: layouts.channels_last, 5: layouts.channels_last_3d}
        suggests = suggested_order(other._geometry) is not None
        memory_format = of_images[other.dim()] if suggests else layouts.contiguous_format
    return resize_(input, other.shape, memory_format=memory_format)


@composite(namespaces=())
def set_(
    input: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Put the tensor on other memory: a tensor's, a storage's, or new and empty memory.

    With ``size``: at that part of it, from ``storage_offset`` on, by ``stride`` (default: row after
    row). RuntimeError for another dtype than this tensor's, or a part that reaches beyond.
    """
    if input.requires_grad and modes.current.grad_enabled and input._node is None:
        raise RuntimeError(errors.LEAF_IN_PLACE)
    if source is None:
        source = empty(0, dtype=input.dtype, device=input.device)
    elif isinstance(source, Tensor):
        if source.dtype is not input.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {dtypes.c_name(source.dtype)} to a tensor of type "
                f"{dtypes.c_name(input.dtype)}"
            )
    else:
        storage = source.untyped() if hasattr(source, "untyped") else source
        if not isinstance(storage, UntypedStorage):
            raise TypeError(
                f"set_(): argument 'source' must be Tensor or Storage, not {type(source).__name__}"
            )
        source = _elements(storage._storage).view(input.dtype)
        size = source.shape if size is None else size
    if storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    if size is not None:
        size = shape_arguments((size,))
        stride = views.contiguous_strides(size) if stride is None else stride
        source = source.detach().as_strided(size, stride, storage_offset)
    input.data = source
    return input


def _resize(t: Tensor, shape: tuple[int, ...], order: tuple[int, ...], alone: Any) -> None:
    """Resize a tensor to a size and memory order, as ``resize_``. ``alone``: no other tensor shares
    the memory."""
    whole, storage = whole_memory(t, "resize_"), t._storage
    version, offset, count = storage.version, t.storage_offset(), math.prod(shape)
    if modes.is_capturing() and not alone:
        alone = len(tensors_on(storage)) == 1  # the capture refers to the storage, too
    if count and offset + count > storage.size:
        unwritten = determinism.in_new_memory(storage.dtype)
        grow(storage, offset + count, () if alone else tensors_on(storage), unwritten)
        whole = Geometry((storage.size,), (1,), 0)
    chain = stretch(whole, offset, shape, order)
    chain = chain.pending_of(t._view)
    found: View | None = chain
    if alone and count == storage.size and storage.host is None and chain.shows_memory:
        storage.write(_value(storage, chain))
        row_major = chain.geometry.stride == views.contiguous_strides(shape)
        storage.strides = None if row_major else chain.geometry.stride
        found = None
    if t._view is not found:
        modes.running_capture().field_write(t, "resize_()")
    t._view = found
    storage.version = version + 1
    modes.epoch.advance()  # compiled programs look again how what they read lies


def grow(storage: Storage, count: int, on_it: Any, value: Any = 0) -> None:
    """Make the memory ``count`` elements long, new ones ``value``; the tensors ``on_it`` keep their
    geometry."""
    if storage.host is not None:
        raise RuntimeError("Trying to resize storage that is not resizable")
    shape = storage.shape
    whole = Geometry(shape, storage.strides or views.contiguous_strides(shape), 0)
    former = storage.size
    before = stretch(
        Geometry((count,), (1,), 0), 0, shape, views.dense_order(whole.size, whole.stride)
    )
    for t in on_it:
        modes.running_capture().field_write(t, "resize_()")
        chain = before
        for s, dynamic in t._view.links() if t._view is not None else ():
            chain = chain.then(s, dynamic)
        t._view = chain
    flat = _value(storage, stretch(whole, 0, (former,), (0,)))
    if type(flat) is MetaArray:
        longer: Any = MetaArray((count,), storage.dtype)
    else:
        with allocating((count,), flat.dtype):
            longer = jnp.concatenate([flat, jnp.full(count - former, value, flat.dtype)])
    storage.write(longer)
    storage.strides = None
    modes.epoch.advance()


def stretch(whole: Geometry, offset: int, size: tuple[int, ...], order: tuple[int, ...]) -> View:
    """Return the chain of view steps from an array to the elements that follow each other in memory
    from ``offset`` on.

    Their dimensions run from slowest to fastest as ``order``.
    """
    chain = View((), (), whole)
    count, memory = math.prod(size), views.dense_order(whole.size, whole.stride)
    if memory != tuple(range(len(memory))):
        chain = chain.then(step(views.Permute, memory), ())
    if (offset, count) != (0, math.prod(whole.size)):
        chain = chain.then(step(views.Reshape, (math.prod(whole.size),), (1,)), ())
        chain = chain.then(step(views.Slice, 0, count, 1), (offset,))
    inner = tuple(size[d] for d in order)
    chain = chain.then(step(views.Reshape, inner, views.contiguous_strides(inner)), ())
    if order != tuple(range(len(order))):
        chain = chain.then(step(views.Permute, tuple(np.argsort(order).tolist())), ())
    return chain


def _value(storage: Storage, chain: View) -> Any:
    """Read the value of a chain of view steps from a storage now."""
    array = storage.read()
    if type(array) is MetaArray:
        return MetaArray(chain.geometry.size, array.dtype)
    return views.reader(chain.steps)(array, *chain.dynamic)


def _elements(storage: Storage) -> Tensor:
    """Return all of a storage's memory as a vector."""
    return Tensor._on(storage).as_strided((storage.size,), (1,), 0)


def _resize_storage(self: UntypedStorage, size: int) -> UntypedStorage:
    """Make the memory ``size`` bytes long; new bytes are zero, tensors keep their geometry.

    NotImplementedError for fewer bytes than it has: tensors would look beyond its end.
    """
    self._check_memory("call resize_()")
    storage = self._storage
    count, rest = divmod(size, storage.dtype.itemsize)
    if size < storage.nbytes or rest:
        raise NotImplementedError(
            f"a storage of {storage.nbytes} bytes cannot become one of {size}: give the tensor "
            "other memory (t.data = torch.empty(0))"
        )
    if size > storage.nbytes:
        grow(storage, count, tensors_on(storage))
    return self


add_method("resize_", _resize_storage, of=UntypedStorage)
