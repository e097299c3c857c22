"""Groups of some ranks as rows of a grid of ranks, so that one program speaks of several groups.

Groups that are made one after the other, of one size and with no rank in common, cut the ranks in
rows: those along a dimension of a mesh do, those of ``new_subgroups``, and those of a loop over
``new_group``. RankRows of ranks at one distance are along some axes of a grid of all ranks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from torchlike._runtime.rendezvous import coordination
from torchlike.distributed.groups import ProcessGroup, World

Ranks = Sequence[int]


class RankRows(NamedTuple):
    """How groups cut ranks in rows: the distance between neighbours in a row, and its length."""

    stride: int
    length: int


def of_one_kind(group: ProcessGroup) -> list[list[int]]:
    """Return the ranks of the groups that were made with a group to cut ranks in rows, its own
    among them. The same in all processes, for all of them make all groups in one order."""
    found: list[list[int]] = []
    seen: set[int] = set()
    has_own = False
    for number in sorted(World.groups):
        ranks = World.groups[number].ranks
        if found and (len(ranks) != len(found[0]) or seen & set(ranks)):
            if has_own:
                break
            found, seen = [], set()
        found.append(ranks)
        seen |= set(ranks)
        has_own = has_own or number == group.number
    return found if has_own else [group.ranks]


def rows_among(ranks: Ranks, group: ProcessGroup) -> RankRows | None:
    """Return the rows in which a group and those made with it cut ``ranks``; None where they do
    not."""
    if list(ranks) == group.ranks:
        return RankRows(1, len(ranks))
    every = of_one_kind(group)
    if sorted(r for row in every for r in row) != sorted(ranks):
        return None
    place = {r: i for i, r in enumerate(ranks)}
    found = {_row([place[r] for r in row]) for row in every}
    return found.pop() if len(found) == 1 else None


def _row(places: list[int]) -> RankRows | None:
    """Return the row of these places; None for others than a dimension of a grid has."""
    if len(places) == 1:
        return RankRows(1, 1)
    stride, length = places[1] - places[0], len(places)
    first = places[0] % (stride * length)
    if first >= stride or places != [places[0] + i * stride for i in range(length)]:
        return None
    return RankRows(stride, length)


def grid_of(ranks: Ranks, every: Sequence[RankRows]) -> jax.sharding.Mesh | None:
    """Return a mesh of the ranks' devices on which all these are rows along some axes; None where
    there is no such mesh."""
    sizes = grid_sizes(len(ranks), every)
    if sizes is None:
        return None
    devices = np.array([coordination.device_of(r) for r in ranks], object).reshape(sizes)
    names = tuple(f"ranks_{i}" for i in range(len(sizes)))
    types = (jax.sharding.AxisType.Auto,) * len(sizes)
    return jax.sharding.Mesh(devices, names, axis_types=types)


def grid_sizes(count: int, every: Sequence[RankRows]) -> list[int] | None:
    """Return the lengths of the axes of such a mesh of ``count`` ranks."""
    bounds = sorted({1, count} | {b for s, n in every for b in (s, s * n)})
    if any(b % a for a, b in itertools.pairwise(bounds)):
        return None
    return [b // a for a, b in itertools.pairwise(bounds)][::-1]


def axes_along(
    mesh: jax.sharding.Mesh | jax.sharding.AbstractMesh, rows: RankRows
) -> tuple[str, ...] | None:
    """Return the axes of a mesh along which such rows are; None where there are none."""
    sizes = tuple(mesh.shape.values())
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    end = rows.stride * rows.length
    chosen = [
        i
        for i, (n, s) in enumerate(zip(sizes, strides, strict=True))
        if n > 1 and rows.stride <= s < end
    ]
    if math.prod(sizes[i] for i in chosen) != rows.length:
        return None
    if chosen and (strides[chosen[-1]] != rows.stride or end % strides[chosen[0]]):
        return None
    return tuple(mesh.axis_names[i] for i in chosen)
