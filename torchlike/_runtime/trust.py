"""Folders and files whose content this process runs: nobody else may have written it.

What is compiled is kept as native code. Who may write to its folder has that code run by whoever
reads it. So folder and files belong to this user, or to the system's administrator, and nobody else
may write there. Windows, whose rights are others, is not asked.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def made_private(folder: Path) -> None:
    """Make a folder that this user alone may enter, unless it is there. OSError where it cannot
    be."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def made_tighter(folder: Path) -> None:
    """Leave a folder of this user's to this user alone, where others may read it (as an earlier
    version made it). One that others may write to stays: its content is theirs by now."""
    if os.name != "posix":
        return
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if ours and found.st_mode & 0o077 and not found.st_mode & _OTHERS_WRITE:
        with contextlib.suppress(OSError):  # of a disk that is read alone: it does no harm
            folder.chmod(0o700)


def reason_against(found: os.stat_result, what: str) -> str | None:
    """Return why what this status is of may have been written by somebody else; None where it may
    not have."""
    if os.name != "posix":
        return None
    own = os.geteuid()
    if found.st_uid not in (own, 0):
        return f"{what} belongs to user {found.st_uid}, and this is user {own}"
    if found.st_mode & _OTHERS_WRITE:
        return f"others may write to {what} (mode {stat.S_IMODE(found.st_mode):04o})"
    return None
