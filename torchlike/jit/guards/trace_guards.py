"""Seen: plain Python values read by a function that is traced once and then kept.

An operation made of a user's JAX function keeps its trace, in which such values are frozen. What it
read is therefore compared when the trace is to be used again, and handed on to a capture that uses
it, whose program depends on the same values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torchlike._core import modes
from torchlike.jit.capture.frame_observer import Watch
from torchlike.jit.guards.values import Place, describe


class Seen:
    """The places that traces of one function read, with the values they had."""

    def __init__(self) -> None:
        self._places: dict[Any, Place] = {}

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Around a trace. RuntimeError where a value that an earlier one read has changed since:
        the backward pass would belong to another function than the forward did."""
        changed = [p for p in self._places.values() if not p.holds()]
        if changed:
            place = changed[0]
            raise RuntimeError(
                f"`{place.label}`, which the function read in its forward pass, changed before its "
                f"first backward pass: {describe(place.before())} → {describe(place.now())}. Pass "
                "it as an argument"
            )
        watch = Watch()
        # The collector's youngest generation is a running capture's own.
        watch.start(collect=modes.current.capture is None)
        try:
            yield
            watch.settle()
        finally:
            watch.stop()
        for key, place in watch.places.items():
            if place.holds():  # what the function changes, JAX's functions change once a trace
                self._places.setdefault(key, place)

    def holds(self) -> bool:
        """Whether every value is what it was."""
        for place in self._places.values():  # noqa: SIM110 - a generator costs 0.3 µs more
            if not place.holds():
                return False
        return True

    def hand_on(self) -> None:
        """Let a running capture depend on these values, too."""
        capture = modes.current.capture
        if capture is not None:
            for key, place in self._places.items():
                capture.watch.places.setdefault(key, place)
