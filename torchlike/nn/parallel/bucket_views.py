"""Gradients as views of their bucket: ``DistributedDataParallel(gradient_as_bucket_view=True)``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from torchlike.distributed.grad_bucket import split_like
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor


class BucketViews:
    """For each bucket a flat tensor, of which the gradients of its parameters are parts: what is
    written into the one is seen in the others."""

    def __init__(self, parameters: Sequence[Parameter], buckets: Sequence[Sequence[int]]) -> None:
        self._parameters, self._buckets = parameters, buckets
        #: By the bucket's number: the flat tensor, and its parts.
        self._made: dict[int, tuple[Tensor, list[Tensor]]] = {}

    def put(self, b: int, flat: Any, untouched: Collection[int]) -> None:
        """Write a bucket's gradients, and have its parameters hold them; those ``untouched`` keep
        what they have."""
        members = self._buckets[b]
        parameters = [self._parameters[i] for i in members]
        if b not in self._made:
            like = parameters[0].new_zeros(sum(p.numel() for p in parameters))
            self._made[b] = like, split_like(like, parameters)
        whole, parts = self._made[b]
        held = {i: part._read() for i, part in zip(members, parts, strict=True) if i in untouched}
        whole._write(flat)
        for i, p, part in zip(members, parameters, parts, strict=True):
            if i in untouched:
                part._write(held[i])
            elif p._grad is not part:
                p.grad = part
