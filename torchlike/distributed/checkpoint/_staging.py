"""The staging folder beside a checkpoint's files, in which a save makes the next ones.

It stays until the index names the files that were moved out of it, and lists them. So what a killed
save has left can be told from a checkpoint's files, and the next save removes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from torchlike._runtime import processes, whole_files
from torchlike.distributed.checkpoint._names import is_plain

_PREFIX = ".torchlike-saving-"
#: In such a folder: what was moved out of it and what the former index named, a line for each file:
#: which file it is, and its name. What no index names of it has to go.
_LISTED = "moved"
#: What the indexes of all layouts name: functions of a checkpoint's folder.
indexes: list[Callable[[Path], set[str]]] = []
#: The folders of the saves of this process that have not ended.
_running: set[Path] = set()


class StagingFolder:
    """Where a save makes files, and how they get among the checkpoint's."""

    def __init__(self, folder: Path, path: Path) -> None:
        self.folder, self.path = folder, path
        self._listed: list[str] = []

    def move(self, names: Iterable[str]) -> None:
        """Move files that are on the disk to where an index may name them; once in a save."""
        chosen = sorted(names)
        self._list([self.path / name for name in chosen])
        for name in chosen:
            (self.path / name).replace(self.folder / name)
        whole_files.sync(self.folder)

    def replace(self, name: str, text: str, former: Iterable[str]) -> None:
        """Write the index, which appears whole among the checkpoint's files, after all that was
        moved. Files that the ``former`` one names go at the end, or with the next save."""
        self._list([self.folder / file for file in sorted(former)])
        whole_files.write_text(self.folder / name, text)

    def _list(self, paths: list[Path]) -> None:
        """Note files which go unless an index names them."""
        self._listed += [f"{_identity(path)} {path.name}" for path in paths]
        whole_files.write_text(self.path / _LISTED, "\n".join(self._listed))


@contextlib.contextmanager
def staging(folder: Path) -> Iterator[StagingFolder]:
    """Yield a new folder in ``folder``, which goes at the end. Its name tells the machine and the
    process that made it: those of this machine whose process has ended were left by killed saves,
    and go first, with what was moved out of them and no index names."""
    own = f"{_PREFIX}{socket.gethostname()}-"
    for left in folder.glob(f"{own}*"):
        if left.is_symlink() or not left.is_dir():
            continue
        process = left.name.removeprefix(own).partition("-")[0]
        if process.isdigit() and not _runs(int(process), left):
            _remove(left)
    path = Path(tempfile.mkdtemp(prefix=f"{own}{os.getpid()}-", dir=folder))
    _running.add(path)
    try:
        yield StagingFolder(folder, path)
    finally:
        _remove(path)
        _running.discard(path)


def _remove(left: Path) -> None:
    """Remove such a folder, and what was moved out of it in vain."""
    folder = left.parent
    with contextlib.suppress(FileNotFoundError):  # another process of this save removes it, too
        kept = _of_indexes(folder)
        if kept is not None:
            for name in _listed(left) - kept:
                (folder / name).unlink(missing_ok=True)
    shutil.rmtree(left, ignore_errors=True)


def _listed(left: Path) -> set[str]:
    """Return the files beside such a folder that it lists: those that bear the name and are the
    very file, by its number and time. So what came with somebody's checkpoint names nothing."""
    listed = left / _LISTED
    if listed.is_symlink() or not listed.is_file():
        return set()
    lines = listed.read_bytes().decode(errors="replace").split("\n")
    return {
        name
        for identity, _, name in (line.partition(" ") for line in lines)
        if identity and is_plain(name) and identity == _identity(left.parent / name)
    }


def _identity(path: Path) -> str:
    """Return a text that identifies a file, wherever it is moved to; "" for none."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return ""
    return f"{found.st_ino}:{found.st_mtime_ns}" if stat.S_ISREG(found.st_mode) else ""


def _of_indexes(folder: Path) -> set[str] | None:
    """Return the files that the folder's indexes name; None where one of them is damaged."""
    try:
        return set().union(*[named(folder) for named in indexes])
    except RuntimeError:
        return None


def _runs(process: int, left: Path) -> bool:
    """Return whether the save of a folder may be under way."""
    if process == os.getpid():  # it may have had this number by chance
        return left in _running
    return processes.runs(process)
