"""Lists and dictionaries that are passed as arguments: each call changes the caller's own.

A function that is captured sees copies, in which tensors of its own stand for the caller's. What it
leaves in one that it changed is given out by the program like a result, and each call puts it into
the list or dictionary that the caller passed. Where the result, or another container, holds one of
them, each call gives the caller's own. They reach a program behind the numbers of the call: the
last of those are the containers, counted from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torchlike._jit.capture.scalars import Number, Table
from torchlike._jit.compile.output_templates import GivenContainer
from torchlike._runtime import trees
from torchlike.tensor import Tensor


class CallValues:
    """What Python gives a program at each call: numbers, then the containers of the arguments."""

    def __init__(self, numbers: Table | None) -> None:
        self._numbers = numbers
        #: The leaves of the arguments that are traced numbers.
        self.positions = () if numbers is None else numbers.positions

    def evaluate(self, leaves: Sequence[Any], call: Any) -> list[Any] | None:
        """Return all these values at a call; None where the program does not fit."""
        values = [] if self._numbers is None else self._numbers.evaluate(leaves, call)
        return None if values is None else [*values, *trees.containers(call)]


class Copies:
    """The containers that one capture's function sees, and what was in them."""

    def __init__(self, made: trees.Made, refuse: Callable[[str, str, Any], None]) -> None:
        """Keep the containers that were made, and their contents now. ``refuse(asked, instead,
        container)`` raises."""
        self._copies = made.containers
        self._registered = made.registered
        self._before = [_contents(c) for c in self._copies]
        self._refuse = refuse
        n = len(self._copies)
        #: The leaves that stand for them in what the call gives back, by their ids.
        self.leaves = {id(c): GivenContainer(i - n) for i, c in enumerate(self._copies)}

    def __bool__(self) -> bool:
        return bool(self._copies or self._registered)

    def copy(self, index: int) -> Any:
        """Return the container that stands for one of the call's, by its place from the end."""
        return self._copies[index]

    def changed(self) -> list[int]:
        """Return the numbers of the containers that hold something else now."""
        return [
            i
            for i, (c, before) in enumerate(zip(self._copies, self._before, strict=True))
            if not _holds(c, before)
        ]

    def contents(self, changed: Iterable[int]) -> list[Any]:
        """Return the present contents of these containers, in containers that are nobody's.
        JitCaptureError for a key that only this capture knows."""
        found: list[Any] = []
        for i in changed:
            copy = self._copies[i]
            if isinstance(copy, dict):
                known = {id(key) for key, _ in self._before[i]}
                for key in copy:
                    if id(key) not in known and _is_own(key):
                        self._refuse(
                            "a tensor or traced number as a new key of a dictionary that was "
                            "passed as an argument",
                            "a plain value as the key",
                            copy,
                        )
                found.append(dict(copy))
            else:
                found.append(list(copy))
        return found

    def check_registered(self) -> None:
        """Raise JitCaptureError where an instance of a registered class was changed."""
        for made, children, context in self._registered:
            now, context_now = trees.registered[type(made)][0](made)
            alike = len(now) == len(children) and all(map(_is, now, children))
            if not alike or context_now != context:
                self._refuse(
                    f"changing a {type(made).__name__} that was passed as an argument",
                    "a returned one",
                    made,
                )

    def check_kept(self, value: Any, label: str) -> None:
        """Raise JitCaptureError where a place outside holds one of the containers: it would not be
        the caller's."""
        held = value.values() if isinstance(value, dict) else value
        for x in (value, *held) if isinstance(value, (list, tuple, dict)) else (value,):
            if id(x) in self.leaves:
                self._refuse(
                    f"keeping a list or dictionary that was passed as an argument in `{label}`",
                    "a returned value",
                    x,
                )


def write(changes: Sequence[int], numbers: Sequence[Any], given: Any) -> Any:
    """Put what the program gave for the containers ``changes`` into those of the call; gives the
    function's result. ``given`` is (result, contents of each)."""
    result, contents = given
    for index, new in zip(changes, contents, strict=True):
        container = numbers[index]
        if isinstance(container, dict):
            container.clear()
            container.update(new)
        else:
            container[:] = new
    return result


def _is(a: Any, b: Any) -> bool:
    return a is b


def _contents(container: Any) -> list[Any]:
    return list(container.items() if isinstance(container, dict) else container)


def _holds(container: Any, before: list[Any]) -> bool:
    now = _contents(container)
    if len(now) != len(before):
        return False
    if isinstance(container, dict):
        return all(k is key and v is w for (k, v), (key, w) in zip(now, before, strict=True))
    return all(map(_is, now, before))


def _is_own(key: Any) -> bool:
    """Return whether a dictionary's key is, or holds, an object that is of the capture alone."""
    if isinstance(key, tuple):
        return any(map(_is_own, key))
    return isinstance(key, Tensor) or type(key) is Number
