"""``Stateful``: an object that gives and takes a state dict."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """Whatever has these two methods: ``save`` asks the one, ``load`` tells the other."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state that is to be saved."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what was saved."""
        ...
