"""The gradients of a replicated module, averaged over processes while backward runs.

Parameters stand in buckets, in reverse order of their registration, which is about the order in
which backward reaches them. A bucket whose gradients are all there is averaged by one program;
buckets are begun in the same order in all processes. Their results are in ``.grad`` at once, and
ready when the pass ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from torchlike._core import modes
from torchlike._ops.creation.from_data import tensor
from torchlike._ops.shape.joining import cat
from torchlike.autograd.engine import queue_callback
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed import collective_kernels, collectives
from torchlike.distributed.grad_bucket import GradBucket, split_like
from torchlike.distributed.groups import ProcessGroup
from torchlike.distributed.programs import run
from torchlike.distributed.reductions import ReduceOp
from torchlike.distributed.works import Work
from torchlike.nn.parallel.bucket_views import BucketViews
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor

#: Bytes of the first bucket, which is on its way early, and of the others.
FIRST_BUCKET, OTHER_BUCKETS = 1 << 20, 25 << 20
#: Gradients of so many bytes are exchanged by themselves, which spares two copies and costs a
#: message more: what data parallelism adds to an MLP step, of 0.8 MB, takes 0.8 of the time. From
#: 64 KB on a GPT step took 1.1 times as long, at 45 messages.
_ALONE = 512 << 10

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This "
    "error indicates that your module has parameters that were not used in producing loss. You can "
    "enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by making "
    "sure all `forward` function outputs participate in calculating loss. Parameters which did not "
    "receive grad for rank {rank}: {names}"
)


def _averaged(size: int, divisor: int, is_flat: bool) -> Callable[..., tuple[Any, ...]]:
    """Return a function for use inside a program over ``size`` ranks: arrays summed and divided,
    the small ones among them as one; all as one flat array where the result ``is_flat``."""
    total = collective_kernels.all_reduce("SUM", size)

    def mean(x: Any, dtype: Any) -> Any:
        (whole,) = total(x)
        return (whole / divisor).astype(dtype)

    def as_one(arrays: Sequence[Any]) -> Any:
        return mean(jnp.concatenate([a.reshape(-1) for a in arrays]), arrays[0].dtype)

    def body(*arrays: Any) -> tuple[Any, ...]:
        if is_flat:
            return (as_one(arrays),)
        small = [a for a in arrays if a.nbytes < _ALONE]
        parts = iter(_cut(as_one(small), small) if len(small) > 1 else map(alone, small))
        return tuple(next(parts) if a.nbytes < _ALONE else alone(a) for a in arrays)

    def alone(a: Any) -> Any:
        return mean(a, a.dtype)

    return body


def _cut(flat: Any, like: Sequence[Any]) -> list[Any]:
    """Cut a flat array into arrays of the shapes of others."""
    parts, start = [], 0
    for a in like:
        stop = start + math.prod(a.shape)
        parts.append(flat[start:stop].reshape(a.shape))
        start = stop
    return parts


class Reducer:
    """Averages the gradients of some parameters in each backward pass that is told to."""

    def __init__(
        self,
        parameters: Sequence[tuple[str, Parameter]],
        group: ProcessGroup,
        cap: int,
        finds_unused: bool,
        first: int = FIRST_BUCKET,
        as_views: bool = False,
    ) -> None:
        self.names = [name for name, _ in parameters]
        self.parameters = [p for _, p in parameters]
        self.group, self.finds_unused = group, finds_unused
        self.buckets = _in_buckets(self.parameters, first, cap)
        self._views = BucketViews(self.parameters, self.buckets) if as_views else None
        self._bucket_of = {i: b for b, members in enumerate(self.buckets) for i in members}
        #: Takes a bucket and gives a future, in place of the mean.
        self.hook: Callable[[GradBucket], Any] | None = None
        #: By what sums are divided: the processes, or those of them that still have input.
        self.divisor = group.size()
        self._syncs = False
        self._begun = False
        self._reset()
        self._handles = [
            p.register_post_accumulate_grad_hook(lambda leaf, i=i: self._arrived(i))
            for i, p in enumerate(self.parameters)
        ]

    def _reset(self) -> None:
        self._ready: set[int] = set()
        self._left = [len(members) for members in self.buckets]
        self._next = 0
        self._works: list[Work] = []
        self._futures: list[tuple[int, Any, GradBucket]] = []
        self._results: list[tuple[int, list[Any]]] = []

    def bucket_bytes(self) -> list[int]:
        """Return the buckets' sizes in bytes, in the order in which they become ready."""
        sizes = [p.numel() * p.itemsize for p in self.parameters]
        return [sum(sizes[i] for i in members) for members in self.buckets]

    def check(self) -> None:
        """Raise RuntimeError, before a forward pass, where the backward pass before did not reach
        all parameters."""
        if self._begun:
            missing = [n for i, n in enumerate(self.names) if i not in self._ready]
            raise RuntimeError(_UNFINISHED.format(rank=self.group.rank(), names=", ".join(missing)))

    def prepare(self, syncs: bool) -> None:
        """Set, after a forward pass, whether the backward pass that follows averages. While a
        program is captured it has to follow there: this state belongs to one pass, and to no
        program."""
        self._syncs = syncs
        if syncs:
            self._reset()
            capture = modes.running_capture()
            capture.undo_on_failure(self, self._end)
            capture.check_at_end(self._check_captured)

    def _check_captured(self) -> None:
        if self._syncs:
            modes.the_capture().refuse(
                "the forward pass of a DistributedDataParallel without its backward pass",
                "torchlike.jit on the whole step, or on the module inside",
            )

    def _end(self) -> None:
        """Reset the state of a pass that has ended, well or not."""
        self._begun, self._syncs = False, False
        self._unused = self._untouched = frozenset()
        self._reset()

    def average_now(self) -> None:
        """Average the gradients that there are, outside a backward pass."""
        self.prepare(syncs=True)
        for i in range(len(self.parameters)):
            self._mark(i)
        self._finish()

    def _arrived(self, i: int) -> None:
        """Note that a parameter's gradient is whole."""
        if not self._syncs:
            return
        if i in self._ready:
            raise RuntimeError(
                f"Expected to mark a variable ready only once. Parameter {self.names[i]} got a "
                "second gradient: it is used outside the module's forward, or in several reentrant "
                "backward passes"
            )
        if not self._begun:
            self._begun = True
            queue_callback(self._finish, outermost=True)
        self._mark(i)

    def _mark(self, i: int) -> None:
        self._ready.add(i)
        self._left[self._bucket_of[i]] -= 1
        while self._next < len(self.buckets) and self._left[self._next] == 0:
            self._begin(self._next)
            self._next += 1

    def _gradients(self, b: int) -> list[Tensor]:
        """Return the gradients of a bucket; zeros for parameters that have none."""
        found = []
        for i in self.buckets[b]:
            p = self.parameters[i]
            modes.running_capture().check_gradient(p._grad)
            used = i not in self._unused and p._grad is not None
            if used and p._grad is not None and p._grad.is_sparse:
                raise NotImplementedError(
                    f"DistributedDataParallel: the sparse gradient of {self.names[i]}. Use "
                    "instead: sparse=False"
                )
            found.append(p._grad if used else p.new_zeros(tuple(p.shape)))
        return found

    #: Parameters that this pass did not reach, in this process.
    _unused: frozenset[int] = frozenset()

    @no_grad()
    def _begin(self, b: int) -> None:
        gradients = self._gradients(b)
        if self.hook is not None:
            flat = cat([g.reshape(-1) for g in gradients])
            parameters = [self.parameters[i] for i in self.buckets[b]]
            bucket = GradBucket(b, len(self.buckets), parameters, flat)
            self._futures.append((b, self.hook(bucket), bucket))
            return
        is_flat = self._gives_views()
        statics = (f"bucket {b}", self.divisor, *(["flat"] if is_flat else []))
        arrays = [g._read() for g in gradients]
        results, call = run(
            self.group,
            "gradients",
            statics,
            arrays,
            _averaged(self.group.size(), self.divisor, is_flat),
        )
        if call is not None:
            self._works.append(Work(results, call))
        if is_flat:
            arrays = list(results)
        else:
            arrays = [r.reshape(g.shape) for r, g in zip(results, arrays, strict=True)]
        if self.finds_unused:
            self._results.append((b, arrays))  # until it is known which gradients stay
        else:
            self._put(b, arrays)

    def _gives_views(self) -> bool:
        """Return whether gradients become views of their bucket. The gradients of a program are its
        own."""
        return self._views is not None and not modes.is_capturing()

    def _put(self, b: int, arrays: Sequence[Any]) -> None:
        if self._views is not None and self._gives_views():
            self._views.put(b, arrays[0], self._untouched)
            return
        for i, array in zip(self.buckets[b], arrays, strict=True):
            p = self.parameters[i]
            if i in self._untouched:
                continue
            if p._grad is None:
                p.grad = p.new_zeros(tuple(p.shape))
            assert p._grad is not None
            p._grad._write(array)

    #: Parameters that no process used in this pass: their gradients stay as they are.
    _untouched: frozenset[int] = frozenset()

    @no_grad()
    def _finish(self) -> None:
        """Wait for the buckets once backward has ended."""
        missing = [i for i in range(len(self.parameters)) if i not in self._ready]
        if missing and not self.finds_unused:
            if not modes.is_capturing():
                return  # the next forward says which
            self.check()
        self._unused = frozenset(missing)
        for i in missing:
            self._mark(i)
        if self.finds_unused:
            self._find_untouched()
        for work in self._works:
            work.wait()
        for b, arrays in self._results:
            self._put(b, arrays)
        for b, future, _ in self._futures:
            value = future.wait() if hasattr(future, "wait") else future
            flat = value[0] if isinstance(value, (list, tuple)) else value
            members = [self.parameters[i] for i in self.buckets[b]]
            flat = flat.to(members[0].dtype)
            parts = [flat] if self._gives_views() else split_like(flat, members)
            self._put(b, [part._read() for part in parts])
        self._end()

    def _find_untouched(self) -> None:
        if modes.is_capturing():  # all ranks run this program, and use the same
            self._untouched = self._unused
            return
        used = tensor([int(i not in self._unused) for i in range(len(self.parameters))])
        collectives.all_reduce(used, ReduceOp.SUM, self.group)
        self._untouched = frozenset(i for i, n in enumerate(used.tolist()) if n == 0)

    def shadow(self) -> None:
        """Take part in one backward pass of the others, with zeros."""
        self._reset()
        self._unused = frozenset(range(len(self.parameters)))
        self._untouched = self._unused
        if self.finds_unused:
            used = tensor([0] * len(self.parameters))
        for i in range(len(self.parameters)):
            self._mark(i)
        if self.finds_unused:
            collectives.all_reduce(used, ReduceOp.SUM, self.group)
        for work in self._works:
            work.wait()
        for _, future, _ in self._futures:
            future.wait()
        self._unused = self._untouched = frozenset()


def _in_buckets(parameters: Sequence[Tensor], first: int, cap: int) -> list[list[int]]:
    """Group the numbers of parameters, last first, into buckets of one dtype."""
    buckets: list[list[int]] = []
    open_: dict[Any, tuple[list[int], int, int]] = {}
    for i in reversed(range(len(parameters))):
        p = parameters[i]
        members, size, limit = open_.get(p.dtype, ([], 0, first if not buckets else cap))
        if not members:
            buckets.append(members)
        members.append(i)
        size += p.numel() * p.itemsize
        open_[p.dtype] = ([], 0, cap) if size >= limit else (members, size, limit)
    return buckets
