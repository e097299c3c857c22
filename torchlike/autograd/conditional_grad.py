"""Gradients that exist under a traced condition only: those of one branch of a ``cond``.

Where a branch on a value did not use a leaf, eager execution gives it no gradient: its ``.grad``
stays None, and an optimizer leaves it alone, its momentum and weight decay as well. A captured
graph has both branches, and zeros for the leaf. So in a capture the engine walks with the zeros a
condition, under which they are a gradient at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax import core

from torchlike._core import modes

#: The root of a backward pass inside the capture, which starts with a gradient.
GIVEN = -1

#: {root: True, or a 0-dim bool array}: there is a gradient if, for any of the roots, one arrives
#: there and the condition holds.
When = dict[Any, Any]


class ConditionalGrad:
    """A gradient's array, and when there is one."""

    __slots__ = ("array", "when")

    def __init__(self, array: Any, when: When) -> None:
        self.array, self.when = array, when


def conditional(array: Any, when: When) -> Any:
    """Return the gradient under this condition: the array itself where that always holds, None
    where it never does."""
    if when.get(GIVEN) is True:
        return array
    return ConditionalGrad(array, when) if when else None


def array_of(gradient: Any) -> Any:
    """Return the array of a gradient, which is zeros where there is none."""
    return gradient.array if type(gradient) is ConditionalGrad else gradient


def when_of(gradient: Any) -> When:
    """Return the condition under which this gradient arrives: a plain one always, None never."""
    if type(gradient) is ConditionalGrad:
        return gradient.when
    return {} if gradient is None else {GIVEN: True}


def either(a: Any, b: Any) -> Any:
    return True if a is True or b is True else a | b


def both(a: Any, b: Any) -> Any:
    return b if a is True else a if b is True else a & b


def union(conditions: Sequence[When]) -> When:
    """Return the condition that any of these holds."""
    found: When = {}
    for when in conditions:
        for root, condition in when.items():
            found[root] = either(found[root], condition) if root in found else condition
    return found


def under(when: When, condition: Any) -> When:
    """Return the condition that this one holds and a condition of the program does."""
    return {root: both(c, condition) for root, c in when.items()}


def numbered(when: When, flags: list[Any]) -> When:
    """Return the same condition with arrays replaced by their places in ``flags``, to which they
    are appended."""
    found: When = {}
    for root, condition in when.items():
        if condition is not True:
            flags.append(condition)
        found[root] = True if condition is True else len(flags) - 1
    return found


def with_flags(when: When, flags: Sequence[Any]) -> When:
    """Rebuild the condition that ``numbered`` took apart."""
    return {root: True if c is True else flags[c] for root, c in when.items()}


def placed(gradients: Sequence[Any], arrive: Sequence[Any]) -> list[Any]:
    """Return one entry for each edge: a gradient where ``arrive`` (a bool, or when it does) is
    true, or None."""
    found = iter(gradients)
    return [next(found) if any_arrives else None for any_arrives in arrive]


def arriving(
    gradients: Sequence[Any], conditions: Sequence[When | None], cotangents: Sequence[Any]
) -> list[Any]:
    """Put gradients that depend on some of the cotangents each under a condition (``conditions``,
    by cotangent; None: on any of them, under none), where these are there or not themselves.

    In a capture they are `ConditionalGrad`; outside, None where there is no gradient, for which
    Python waits for the conditions. A transform of JAX's own cannot leave one out: there are zeros.
    """
    anyhow = dict.fromkeys(range(len(cotangents)), True)
    arrived = [when_of(c) for c in cotangents]
    found = []
    for gradient, own in zip(gradients, conditions, strict=True):
        own = anyhow if own is None else own
        when = union([under(arrived[root], c) for root, c in own.items()])
        if modes.is_capturing():
            found.append(conditional(gradient, when))
            continue
        is_there = any(c is True or isinstance(c, core.Tracer) or bool(c) for c in when.values())
        found.append(gradient if is_there else None)
    return found


def total(
    present: ConditionalGrad | Any, gradient: ConditionalGrad | Any, add: Callable[..., Any]
) -> Any:
    """Add two gradients: the sum is there where any of them is."""
    array = add(array_of(present), array_of(gradient))
    return conditional(array, union([when_of(present), when_of(gradient)]))


def any_partial(gradients: Sequence[Any]) -> bool:
    return any(type(g) is ConditionalGrad for g in gradients)


def on_arrays(run: Callable[[list[Any]], Sequence[Any]], gradients: Sequence[Any]) -> list[Any]:
    """Run ``run`` on the arrays of the gradients and put its results, one for each, under the
    conditions that they had."""
    found = run([array_of(g) for g in gradients])
    return [
        new if type(old) is not ConditionalGrad or new is None else ConditionalGrad(new, old.when)
        for old, new in zip(gradients, found, strict=True)
    ]


def through(run: Callable[[list[Any]], Sequence[Any]], incoming: Sequence[Any]) -> list[Any]:
    """Run a node on gradients that arrive or not, and return its results: it runs if any
    arrives."""
    when = union([when_of(g) for g in incoming])
    found = run([array_of(g) for g in incoming])
    return [None if g is None else conditional(g, when) for g in found]
