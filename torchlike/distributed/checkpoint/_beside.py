"""A folder beside a checkpoint's files, in which a save makes the next ones.

It stays until the index names the files that were moved out of it, and lists them. So what a killed
save has left can be told from a checkpoint's files, and the next save removes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_PREFIX = ".torchlike-saving-"
#: In such a folder: the names of the files that were moved out of it, one a line.
_MOVED = "moved"
#: What the indexes of all layouts name: functions of a checkpoint's folder.
indexes: list[Callable[[Path], set[str]]] = []
#: The folders of the saves of this process that have not ended.
_running: set[Path] = set()


class Beside:
    """Where a save makes files, and how they get among the checkpoint's."""

    def __init__(self, folder: Path, path: Path) -> None:
        self.folder, self.path = folder, path

    def move(self, names: Iterable[str]) -> None:
        """Move files that are on the disk to where an index may name them; once in a save."""
        chosen = sorted(names)
        (self.path / _MOVED).write_text("\n".join(chosen), encoding="utf-8")
        for name in chosen:
            (self.path / name).replace(self.folder / name)
        sync(self.folder)

    def replace(self, name: str, text: str) -> None:
        """Write a file that appears whole among the checkpoint's, after all that was moved."""
        with (self.path / name).open("w", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        (self.path / name).replace(self.folder / name)
        sync(self.folder)


@contextlib.contextmanager
def beside(folder: Path) -> Iterator[Beside]:
    """A new folder in ``folder``, which goes at the end. Its name tells the machine and the process
    that made it: those of this machine whose process has ended were left by killed saves, and go
    first, with what was moved out of them and no index names."""
    own = f"{_PREFIX}{socket.gethostname()}-"
    for left in folder.glob(f"{own}*"):
        process = left.name.removeprefix(own).partition("-")[0]
        if process.isdigit() and not _runs(int(process), left):
            _remove(left)
    path = Path(tempfile.mkdtemp(prefix=f"{own}{os.getpid()}-", dir=folder))
    _running.add(path)
    try:
        yield Beside(folder, path)
    finally:
        _remove(path)
        _running.discard(path)


def _remove(left: Path) -> None:
    """Remove such a folder, and what was moved out of it in vain."""
    folder = left.parent
    with contextlib.suppress(FileNotFoundError):  # another process of this save removes it, too
        moved = set((left / _MOVED).read_text(encoding="utf-8").split("\n")) - {""}
        for name in moved.difference(*[named(folder) for named in indexes]):
            (folder / name).unlink(missing_ok=True)
    shutil.rmtree(left, ignore_errors=True)


def _runs(process: int, left: Path) -> bool:
    """Whether the save of a folder may be under way."""
    if process == os.getpid():  # it may have had this number by chance
        return left in _running
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def sync(folder: Path) -> None:
    """Have the folder's entries on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
