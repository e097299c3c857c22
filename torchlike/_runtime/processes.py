"""Whether the process that made something still runs."""

from __future__ import annotations

import os


def runs(process: int) -> bool:
    """True if a process of this machine has that number, somebody else's too."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
