"""Which lines of a script cut chains of deferred calls, and how often."""

from __future__ import annotations

from torchlike._runtime import frames
from torchlike._runtime.first_calls.statistics import cuts


def note(cause: str) -> None:
    """Count a flush for the user's line that runs."""
    frame = frames.users_frame()
    if frame is None:
        cuts[cause, "", 0] += 1
    else:
        cuts[cause, frame.f_code.co_filename, frame.f_lineno] += 1
