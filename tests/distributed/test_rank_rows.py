"""Groups as rows of a grid of ranks."""

import jax
import pytest

from torchlike.distributed import rank_rows
from torchlike.distributed.groups import ProcessGroup, World
from torchlike.distributed.rank_rows import RankRows

EVERY = list(range(8))


@pytest.fixture
def made(monkeypatch):
    """Makes groups of these ranks, one after the other, as rank 0; gives one of them."""

    def make(*every, of=0):
        groups = {i: ProcessGroup("gloo", ranks, 0, i) for i, ranks in enumerate((EVERY, *every))}
        monkeypatch.setattr(World, "groups", groups)
        return groups[1 + of]

    return make


def of_rows(stride, length):
    starts = [r for r in EVERY if (r // stride) % length == 0]
    return [[s + i * stride for i in range(length)] for s in starts]


@pytest.mark.parametrize(("stride", "length"), [(1, 2), (1, 4), (2, 2), (4, 2), (2, 4), (1, 8)])
def test_rows_are_found(made, stride, length):
    every = of_rows(stride, length)
    for i in range(len(every)):
        assert rank_rows.rows_among(EVERY, made(*every, of=i)) == RankRows(stride, length)


def test_groups_of_several_kinds_one_after_the_other(made):
    kinds = [(1, 4), (4, 2), (1, 2), (2, 2)]
    every = [row for kind in kinds for row in of_rows(*kind)]
    for i, row in enumerate(every):
        assert rank_rows.rows_among(EVERY, made(*every, of=i)) == RankRows(
            row[1] - row[0], len(row)
        )


@pytest.mark.parametrize(
    "every",
    [
        [[0, 1]],  # the others are in none
        [[0, 3], [1, 2], [4, 7], [5, 6]],  # at several distances
        [[0, 1, 2, 3], [4, 5], [6, 7]],  # of several lengths
        [[0, 1], [2, 4], [3, 5], [6, 7]],
    ],
    ids=str,
)
def test_others_are_no_rows(made, every):
    assert rank_rows.rows_among(EVERY, made(*every)) is None


@pytest.mark.parametrize(
    ("count", "every", "sizes", "along"),
    [
        (4, [(1, 2), (2, 2), (1, 4)], [2, 2], [(1,), (0,), (0, 1)]),
        (8, [(1, 2), (4, 2)], [2, 2, 2], [(2,), (0,)]),
        (8, [(1, 4), (2, 4)], [2, 2, 2], [(1, 2), (0, 1)]),
        (12, [(1, 3), (3, 4), (6, 2)], [2, 2, 3], [(2,), (0, 1), (0,)]),
    ],
)
def test_grids(count, every, sizes, along):
    assert rank_rows.grid_sizes(count, [RankRows(*e) for e in every]) == sizes
    names = tuple(f"ranks_{i}" for i in range(len(sizes)))
    mesh = jax.sharding.AbstractMesh(tuple(sizes), names)
    for e, places in zip(every, along, strict=True):
        assert rank_rows.axes_along(mesh, RankRows(*e)) == tuple(names[i] for i in places)


def test_no_grid():
    assert rank_rows.grid_sizes(12, [RankRows(1, 2), RankRows(1, 3)]) is None
    mesh = jax.sharding.AbstractMesh((2, 4), ("a", "b"))
    assert rank_rows.axes_along(mesh, RankRows(2, 2)) is None
    assert rank_rows.axes_along(mesh, RankRows(1, 4)) == ("b",)
