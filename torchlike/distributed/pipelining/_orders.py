"""In which order a rank computes: lists of forward and backward steps, one for each schedule.

A send never waits for its receiver here, so an order is right if each step finds its input made by
an earlier one of this rank or by another rank that does not wait in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

FORWARD, BACKWARD, INPUT, WEIGHT = "F", "B", "I", "W"


class Action(NamedTuple):
    """A step of a rank: the stage, what it computes (forward; backward, or the gradients of inputs
    and of weights apart), and for which microbatch."""

    stage_index: int
    kind: str
    microbatch_index: int

    def __str__(self) -> str:
        return f"{self.stage_index}{self.kind}{self.microbatch_index}"


def gpipe(stage: int, n: int) -> list[Action]:
    """Order all forward steps first, then all backward."""
    return [Action(stage, kind, i) for kind in (FORWARD, BACKWARD) for i in range(n)]


def one_forward_one_backward(stage: int, stages: int, n: int) -> list[Action]:
    """Order as many microbatches ahead as there are stages behind, then one backward for each
    forward."""
    ahead = min(n, stages - stage)
    forward = [Action(stage, FORWARD, i) for i in range(n)]
    backward = [Action(stage, BACKWARD, i) for i in range(n)]
    order = forward[:ahead]
    for i in range(n):
        order.append(backward[i])
        order += forward[ahead + i : ahead + i + 1]
    return order


def looped(stages: list[int], n: int) -> list[Action]:
    """Order the steps breadth first: all microbatches of a stage, then the next one; backward the
    other way."""
    return [Action(s, FORWARD, i) for s in stages for i in range(n)] + [
        Action(s, BACKWARD, i) for s in reversed(stages) for i in reversed(range(n))
    ]


def microbatches_per_round(n: int, ranks: int, what: str) -> int:
    """Return how many microbatches go through a stage before the rank's next one has its turn.
    ValueError where the rounds do not divide the microbatches."""
    rounds = max(1, n // ranks)
    if n % rounds:
        raise ValueError(
            f"{what} requires the number of microbatches to be a multiple of the number of rounds "
            f"({rounds}), but got {n}."
        )
    return n // rounds


def interleaved(
    rank: int, ranks: int, local: int, n: int, per_round: int, split: bool = False
) -> list[Action]:
    """Order the steps depth first over the stages of a rank, one backward for each forward once it
    is warm.

    With ``split``, gradients of weights come apart, ``rank`` backward steps later than those of
    inputs: they fill the time in which the rank would wait.
    """
    total = n * local
    ahead = min(total, (local - 1) * per_round + (1 if split else 2) * (ranks - 1 - rank))

    def steps(place: Callable[[int], int], kind: str) -> list[Action]:
        seen = dict.fromkeys(range(local), 0)
        made: list[Action] = []
        for step in range(total):
            at = place(step // per_round % local)
            made.append(Action(at * ranks + rank, kind, seen[at]))
            seen[at] += 1
        return made

    forward = steps(lambda at: at, FORWARD)
    backward = steps(lambda at: local - 1 - at, INPUT if split else BACKWARD)
    order = forward[:ahead]
    late: list[Action] = []
    for i in range(total):
        order += forward[ahead + i : ahead + i + 1]
        order.append(backward[i])
        if split:
            late.append(backward[i]._replace(kind=WEIGHT))
            if len(late) > rank:
                order.append(late.pop(0))
    return order + late


def v_shaped(ranks: int, n: int) -> list[list[Action]]:
    """Return the order of each rank, which has two stages, one on the way there and one on the way
    back.

    In each unit of time a rank takes what is ready: gradients of inputs first, then forward steps
    (the later stage first) while fewer than ``2 * ranks`` activations are kept, then gradients of
    weights.
    """
    last = 2 * ranks - 1
    done: set[Action] = set()
    orders: list[list[Action]] = [[] for _ in range(ranks)]
    left = [
        {
            Action(s, kind, i)
            for s in (r, last - r)
            for kind in (FORWARD, INPUT, WEIGHT)
            for i in range(n)
        }
        for r in range(ranks)
    ]

    def ready(a: Action) -> bool:
        if a.kind == FORWARD:
            return a.stage_index == 0 or a._replace(stage_index=a.stage_index - 1) in done
        if a.kind == WEIGHT:
            return a._replace(kind=INPUT) in done
        if a.stage_index == last:
            return a._replace(kind=FORWARD) in done
        return a._replace(stage_index=a.stage_index + 1) in done

    def urgency(a: Action, is_full: bool) -> tuple[int, int, int]:
        return ("IWF" if is_full else "IFW").index(a.kind), -a.stage_index, a.microbatch_index

    while any(left):
        now: list[Action] = []
        for rank, rest in enumerate(left):
            kept = sum({FORWARD: 1, INPUT: 0, WEIGHT: -1}[a.kind] for a in orders[rank])
            able = [
                a
                for a in rest
                if ready(a) and (a.kind != FORWARD or a.stage_index >= ranks or kept < 2 * ranks)
            ]
            if able:
                chosen = min(able, key=lambda a: urgency(a, kept >= 2 * ranks))
                rest.discard(chosen)
                orders[rank].append(chosen)
                now.append(chosen)
        done.update(now)
    return orders
