"""Orders of pipelines: complete, without a circle, and no more kept than the schedule says."""

import pytest

from torchlike.distributed.pipelining import _orders
from torchlike.distributed.pipelining._orders import BACKWARD, FORWARD, INPUT, WEIGHT


def orders(kind, ranks, n):
    if kind == "gpipe":
        return [_orders.gpipe(r, n) for r in range(ranks)], ranks
    if kind == "1f1b":
        return [_orders.one_forward_one_backward(r, ranks, n) for r in range(ranks)], ranks
    if kind == "looped":
        return [_orders.looped([r, r + ranks], n) for r in range(ranks)], 2 * ranks
    if kind == "v":
        return _orders.v_shaped(ranks, n), 2 * ranks
    per_round = _orders.microbatches_per_round(n, ranks, kind)
    split = kind == "zero bubble"
    return [_orders.interleaved(r, ranks, 2, n, per_round, split) for r in range(ranks)], 2 * ranks


def run(order, stages):
    """Each rank takes its next step once its input is there; RuntimeError where all wait."""
    left, done = [list(o) for o in order], set()
    while any(left):
        moved = False
        for rest in left:
            if not rest:
                continue
            s, kind, i = rest[0]
            if kind == FORWARD:
                able = s == 0 or (s - 1, FORWARD, i) in done
            elif kind == WEIGHT:
                able = (s, INPUT, i) in done
            else:
                able = (s, FORWARD, i) in done and (s == stages - 1 or (s + 1, kind, i) in done)
            if able:
                done.add(tuple(rest.pop(0)))
                moved = True
        if not moved:
            raise RuntimeError("all wait")
    return done


@pytest.mark.parametrize("kind", ["gpipe", "1f1b", "looped", "interleaved", "zero bubble", "v"])
@pytest.mark.parametrize(("ranks", "n"), [(1, 3), (2, 2), (2, 8), (4, 4), (4, 16), (3, 1)])
def test_complete(kind, ranks, n):
    order, stages = orders(kind, ranks, n)
    kinds = (FORWARD, INPUT, WEIGHT) if kind in ("zero bubble", "v") else (FORWARD, BACKWARD)
    wanted = {(s, k, i) for s in range(stages) for k in kinds for i in range(n)}
    assert run(order, stages) == wanted
    assert sum(map(len, order)) == len(wanted)


def kept(order):
    most = now = 0
    for action in order:
        now += {FORWARD: 1, BACKWARD: -1, INPUT: 0, WEIGHT: -1}[action.kind]
        most = max(most, now)
    return most


def test_one_forward_one_backward_keeps_as_many_as_stages_are_behind():
    assert [kept(o) for o in orders("1f1b", 4, 16)[0]] == [4, 3, 2, 1]
    assert [kept(o) for o in orders("gpipe", 4, 16)[0]] == [16] * 4


def test_v_keeps_no_more_than_two_for_each_rank():
    assert max(kept(o) for o in orders("v", 4, 32)[0]) <= 2 * 4


def test_rounds_that_do_not_divide():
    with pytest.raises(ValueError, match=r"multiple of the number of rounds \(2\), but got 5"):
        _orders.microbatches_per_round(5, 2, "Interleaved 1F1B")


def test_a_circle_is_seen():
    wrong = [[(0, BACKWARD, 0), (0, FORWARD, 0)], [(1, FORWARD, 0), (1, BACKWARD, 0)]]
    with pytest.raises(RuntimeError, match="all wait"):
        run(wrong, 2)
