"""Groups as lines of a grid of ranks."""

import jax
import pytest

from torchlike.distributed import lines
from torchlike.distributed.groups import ProcessGroup, World
from torchlike.distributed.lines import Lines

EVERY = list(range(8))


@pytest.fixture
def made(monkeypatch):
    """Makes groups of these ranks, one after the other, as rank 0; gives one of them."""

    def make(*every, of=0):
        groups = {i: ProcessGroup("gloo", ranks, 0, i) for i, ranks in enumerate((EVERY, *every))}
        monkeypatch.setattr(World, "groups", groups)
        return groups[1 + of]

    return make


def of_lines(stride, length):
    starts = [r for r in EVERY if (r // stride) % length == 0]
    return [[s + i * stride for i in range(length)] for s in starts]


@pytest.mark.parametrize(("stride", "length"), [(1, 2), (1, 4), (2, 2), (4, 2), (2, 4), (1, 8)])
def test_lines_are_found(made, stride, length):
    every = of_lines(stride, length)
    for i in range(len(every)):
        assert lines.lines_among(EVERY, made(*every, of=i)) == Lines(stride, length)


def test_groups_of_several_kinds_one_after_the_other(made):
    kinds = [(1, 4), (4, 2), (1, 2), (2, 2)]
    every = [line for kind in kinds for line in of_lines(*kind)]
    for i, line in enumerate(every):
        assert lines.lines_among(EVERY, made(*every, of=i)) == Lines(line[1] - line[0], len(line))


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
def test_others_are_no_lines(made, every):
    assert lines.lines_among(EVERY, made(*every)) is None


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
    assert lines.grid_sizes(count, [Lines(*e) for e in every]) == sizes
    names = tuple(f"ranks_{i}" for i in range(len(sizes)))
    mesh = jax.sharding.AbstractMesh(tuple(sizes), names)
    for e, places in zip(every, along, strict=True):
        assert lines.axes_along(mesh, Lines(*e)) == tuple(names[i] for i in places)


def test_no_grid():
    assert lines.grid_sizes(12, [Lines(1, 2), Lines(1, 3)]) is None
    mesh = jax.sharding.AbstractMesh((2, 4), ("a", "b"))
    assert lines.axes_along(mesh, Lines(2, 2)) is None
    assert lines.axes_along(mesh, Lines(1, 4)) == ("b",)
