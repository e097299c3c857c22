"""Which lines of a script cut chains of deferred calls, and how often."""

from __future__ import annotations

from collections import Counter

from torchlike._runtime import frames

#: How often each line did: (what it asked for, file, line).
counts: Counter[tuple[str, str, int]] = Counter()


def note(cause: str) -> None:
    """Count a flush for the user's line that runs."""
    frame = frames.users_frame()
    if frame is None:
        counts[cause, "", 0] += 1
    else:
        counts[cause, frame.f_code.co_filename, frame.f_lineno] += 1
