"""Loggers that ``TORCHLIKE_LOGS`` sends to standard error."""

from __future__ import annotations

import logging
import sys
from typing import Any

from torchlike._runtime.environment_variables import LOGS


class _Stderr(logging.StreamHandler[Any]):
    """Writes to whatever ``sys.stderr`` is at the moment."""

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        pass  # the base class sets it once, which would keep an earlier stderr


def logger(channel: str) -> logging.Logger:
    """Return the logger ``torchlike.<channel>``. Where ``TORCHLIKE_LOGS`` names the channel, what
    it is told at level INFO is written to standard error."""
    found = logging.getLogger(f"torchlike.{channel}")
    if channel in LOGS.get() and not found.handlers:
        found.addHandler(_Stderr())
        found.setLevel(logging.INFO)
        found.propagate = False
    return found
