"""Placements of ``torch.distributed.tensor`` against PyTorch's: they are descriptions."""

import pytest

from torchlike.distributed.tensor import placement_types as ours

pytest.importorskip("torch")
from torch.distributed.tensor import placement_types as theirs

MAKE = {
    "shard": lambda p: p.Shard(0),
    "last": lambda p: p.Shard(dim=-1),
    "replicate": lambda p: p.Replicate(),
    "partial": lambda p: p.Partial(),
    "average": lambda p: p.Partial("avg"),
    "strided": lambda p: p._StridedShard(0, split_factor=2),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_what_a_placement_says(make):
    def said(module):
        it = make(module)
        return [
            repr(it),
            str(it),
            it.is_shard(),
            it.is_shard(0),
            it.is_replicate(),
            it.is_partial(),
            it.is_partial("avg"),
            it == module.Shard(0),
            isinstance(it, module.Placement),
            isinstance(it, module.Shard),
            hash(it) == hash(make(module)),
            it == make(module),
        ]

    assert said(ours) == said(theirs)


@pytest.mark.parametrize("size", [0, 2, 5, 6])
@pytest.mark.parametrize("rank", range(3))
def test_parts_of_a_dimension(size, rank):
    expected = theirs.Shard.local_shard_size_and_offset(size, 3, rank)
    assert ours.Shard.local_shard_size_and_offset(size, 3, rank) == expected
