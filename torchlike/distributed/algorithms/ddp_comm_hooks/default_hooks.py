"""Hooks that average a bucket, as it is or in 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._core import dtypes
from torchlike.distributed import collectives
from torchlike.distributed.groups import member
from torchlike.futures import Future
from torchlike.tensor import Tensor


def averaged(group: Any, tensor: Tensor) -> Future[Any]:
    """Average a tensor over a group's processes, and return a future that has the mean."""
    tensor = tensor / member(group).size()
    collectives.all_reduce(tensor, group=group)
    return done(tensor)


def done(tensor: Tensor) -> Future[Any]:
    """Return a future that has its result already."""
    future: Future[Any] = Future()
    future.set_result(tensor)
    return future


def allreduce_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """Average the bucket over the processes, as without a hook."""
    return averaged(process_group, bucket.buffer())


def _compressed(group: Any, bucket: Any, dtype: Any) -> Future[Any]:
    buffer = bucket.buffer()
    return averaged(group, buffer.to(dtype)).then(lambda f: f.value().to(buffer.dtype))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """Average the bucket over the processes, computed in float16."""
    return _compressed(process_group, bucket, dtypes.float16)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Future[Any]:
    """Average the bucket over the processes, computed in bfloat16."""
    return _compressed(process_group, bucket, dtypes.bfloat16)


Hook = Callable[[Any, Any], Future[Any]]


def _wrapper(hook: Hook, dtype: Any) -> Hook:
    def wrapped(state: Any, bucket: Any) -> Future[Any]:
        before = bucket.buffer().dtype
        bucket.set_buffer(bucket.buffer().to(dtype))
        return hook(state, bucket).then(lambda f: _first(f.value()).to(before))

    return wrapped


def _first(value: Any) -> Tensor:
    return value[0] if isinstance(value, (list, tuple)) else value


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Wrap a hook so that it gets the bucket in float16."""
    return _wrapper(hook, dtypes.float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Wrap a hook so that it gets the bucket in bfloat16."""
    return _wrapper(hook, dtypes.bfloat16)
