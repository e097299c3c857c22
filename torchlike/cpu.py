"""``torch.cpu``: the host, asked in the words that accelerators are asked in."""

from __future__ import annotations

import contextlib
from typing import Any

from torchlike.streams import Stream


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """ "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing to do: there is one."""


def synchronize(device: Any = None) -> None:
    """Nothing to do: reading a value waits for it."""


def current_stream(device: Any = None) -> Stream:
    """The stream of the host."""
    return Stream("cpu")


def stream(stream: Any) -> contextlib.AbstractContextManager[None]:
    """A region on a stream, which changes nothing."""
    return contextlib.nullcontext()
