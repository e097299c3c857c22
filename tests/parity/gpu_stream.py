"""The CPU with the random numbers of a GPU, for what is compared with an accelerator."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torchlike.random.cuda.stream import PhiloxEngine
from torchlike.random.generator import drawing_from


@contextlib.contextmanager
def drawing_as_on(device: str) -> Iterator[None]:
    """Draw a GPU's numbers on the CPU, too, in a `with` block; nothing for accelerators."""
    if device == "cpu":
        with drawing_from(PhiloxEngine()):
            yield
    else:
        yield
