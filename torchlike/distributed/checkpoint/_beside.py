"""A folder beside a checkpoint's files, in which a save makes the next ones."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = ".torchlike-saving-"


@contextlib.contextmanager
def beside(folder: Path) -> Iterator[Path]:
    """A new folder in ``folder``, which goes at the end. Its name tells the machine and the process
    that made it: those of this machine whose process has ended were left by killed saves, and go
    first."""
    own = f"{_PREFIX}{socket.gethostname()}-"
    for left in folder.glob(f"{own}*"):
        process = left.name.removeprefix(own).partition("-")[0]
        if process.isdigit() and not _runs(int(process)):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{own}{os.getpid()}-", dir=folder) as new:
        yield Path(new)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
