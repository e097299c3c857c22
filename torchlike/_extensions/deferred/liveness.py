"""Which values of a chain are alive, and which of its inputs are dead: by counts of references."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from torchlike._extensions.deferred.value import Deferred
from torchlike._runtime.jax_private.arrays import ArrayImpl

_probe = [object()]
#: The references to what a list alone holds.
_ALONE = getrefcount(_probe[0])
del _probe


def alive_among(values: list[Deferred]) -> tuple[int, ...]:
    """Return the numbers of the values that anything but this list refers to."""
    return tuple(
        [
            i
            for i in range(len(values))
            if getrefcount(values[i]) > _ALONE and values[i].array is None
        ]
    )


def dead_among(inputs: list[Any]) -> list[int]:
    """Return the numbers of the arrays to which nothing but this list refers."""
    return [
        i
        for i in range(len(inputs))
        if type(inputs[i]) is ArrayImpl and getrefcount(inputs[i]) <= _ALONE
    ]
