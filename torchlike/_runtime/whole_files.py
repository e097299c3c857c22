"""Files that appear whole: the one way in which the package writes what a user may want to keep.

A regular file is written aside, as a *draft* in its folder, brought onto the disk, and renamed. Who
reads the path finds the former content or the new one, also after ``kill -9``, on a full disk or
after a power cut. Where a rename would replace something else than a file's content, the path is
written to as it is: a pipe, a device, a file that is named by its descriptor
(``/dev/stdout``), one in a folder that takes no new files. Symbolic links are followed, and a file
keeps its permissions.

A draft is locked (``flock``) by the process that writes it. The kernel ends the lock with the
process, so the next save of the path can tell what killed saves have left, and removes it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import io
import itertools
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from typing import IO, Any

_fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None

_SUFFIX = ".torchlike-draft"
#: Bytes of a file's name that its drafts are called by; file systems allow 255 for all of it.
_LONGEST = 150
#: Why a folder takes no draft, or does not let it take a file's place, though the file may be
#: writable itself: rights, a sticky folder, a file that is mounted by itself.
_ONLY_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)
#: The drafts that this process is writing. (Locks of NFS do not hold within one process.)
_running: set[str] = set()


@contextlib.contextmanager
def writing(
    path: Any, *, durable: bool = True, tidy: bool = True, mode: int = 0o666
) -> Iterator[IO[bytes]]:
    """Open a binary file whose content becomes that of ``path`` at the end of the block, unless
    the block raises: then ``path`` is what it was.

    Hard links: other names of the file keep the former content.

    Args:
      durable: have the content on the disk before it replaces the former; without, a power cut
        may leave either, or nothing.
      tidy: remove the drafts that killed saves of ``path`` have left.
      mode: the permissions of a new file, less the umask.

    Raises:
      OSError: the path cannot be written to, the disk is full.
    """
    path = os.fsdecode(path)
    target = _regular(path)
    if target is not None:
        if tidy:
            remove_drafts(*os.path.split(target))
        former = os.stat(target) if os.path.exists(target) else None
        if former is not None and not _may_write(target):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        try:
            draft = _new_draft(target, mode if former is None else 0o600)
        except OSError as error:
            if former is None or error.errno not in _ONLY_IN_PLACE:
                raise type(error)(error.errno, error.strerror, path) from None
        else:
            with draft:
                yield draft.file
                draft.finish(former, durable)
            return
    with _in_place(path) as file:
        yield file


def opened(f: Any, **options: Any) -> contextlib.AbstractContextManager[Any]:
    """Open what a user names a file by: a path (see `writing`), or a binary file, which is left
    open."""
    return contextlib.nullcontext(f) if hasattr(f, "write") else writing(f, **options)


def write_to(f: Any, content: bytes) -> None:
    """Write to a path, whole or not at all, or to a binary file."""
    with opened(f) as file:
        file.write(content)


def write_text(path: Any, text: str) -> None:
    """Make ``text``, in UTF-8, the content of ``path``, whole or not at all."""
    write_to(path, text.encode())


def remove_drafts(folder: str, name: str | None = None) -> None:
    """Remove what killed writers have left in a folder: of the file ``name``, or of any. Drafts
    whose writer lives stay."""
    head = "." if name is None else _stem(name)
    unreadable = contextlib.suppress(FileNotFoundError, PermissionError)
    with unreadable, os.scandir(folder or ".") as found:
        for entry in found:
            if not (entry.name.startswith(head) and entry.name.endswith(_SUFFIX)):
                continue
            middle = entry.name[len(head) : -len(_SUFFIX)]
            if name is None or "." not in middle:  # with a dot: of a file with a longer name
                _remove_left(entry.path)


def sync(folder: Any) -> None:
    """Have a folder's entries on the disk, where its file system can."""
    if os.name != "posix":
        return
    handle = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def _regular(path: str) -> str | None:
    """Return the regular file that a path leads to, there or not yet, behind all links; None where
    the path is to be written to in place."""
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        return None
    for _ in range(40):  # as many links as the kernel follows
        folder = os.path.realpath(os.path.dirname(path))
        path = os.path.join(folder, os.path.basename(path))
        if folder.startswith("/proc/"):  # the links there stand for open files, not for names
            return None
        if not os.path.islink(path):
            return path
        path = os.path.join(folder, os.readlink(path))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def _may_write(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


class _Stream(io.FileIO):
    """A pipe or a device: written from its beginning to its end. Of /dev/null, a terminal and kin
    the kernel says that they can be sought in, and gives positions that mean nothing."""

    def seekable(self) -> bool:
        """Return False."""
        return False

    def seek(self, *position: int) -> int:
        """Refuse to be sought in."""
        raise io.UnsupportedOperation("seek")

    def tell(self) -> int:
        """Refuse to say a position."""
        raise io.UnsupportedOperation("tell")


def _in_place(path: str) -> IO[bytes]:
    kind = io.FileIO if stat.S_ISREG(os.stat(path).st_mode) else _Stream
    return io.BufferedWriter(kind(path, "wb"))


def _stem(name: str) -> str:
    """Return the beginning of the names of a file's drafts."""
    encoded = os.fsencode(name)
    if len(encoded) > _LONGEST:
        name = f"{os.fsdecode(encoded[:100])}-{hashlib.sha256(encoded).hexdigest()[:16]}"
    return f".{name}."


class _Draft:
    """A file that is being written, and its place."""

    def __init__(self, file: IO[bytes], path: str, target: str) -> None:
        self.file, self.path, self._target = file, path, target

    def finish(self, former: os.stat_result | None, durable: bool) -> None:
        """Put the draft in its target's place, with the permissions of the ``former`` one."""
        self.file.flush()
        handle = self.file.fileno()
        if former is not None:
            _take_over(handle, self._target, former)
        if durable:
            os.fsync(handle)
        if _fcntl is None:  # there an open file has no new name
            self.file.close()
        try:
            os.replace(self.path, self._target)
        except OSError as error:
            if former is None or error.errno not in _ONLY_IN_PLACE:
                raise
            with open(self.path, "rb") as source, open(self._target, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            return
        if durable:
            sync(os.path.dirname(self._target))

    def __enter__(self) -> _Draft:
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove the draft, unless it took its place."""
        try:
            with contextlib.suppress(OSError) if exception[0] else contextlib.nullcontext():
                self.file.close()  # which writes again what a full disk did not take
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
            _running.discard(self.path)


def _new_draft(target: str, mode: int) -> _Draft:
    folder, name = os.path.split(target)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    for n in itertools.count():
        # Not by tempfile: it draws a random name, and what draws while a function is captured is
        # taken for a draw of the function's.
        own = f"{_stem(name)}{os.getpid()}-{threading.get_ident()}-{n}{_SUFFIX}"
        path = os.path.join(folder, own)
        _running.add(path)
        try:
            handle = os.open(path, flags, mode)
        except FileExistsError:  # of a save in a save, or of a process that had our number
            continue
        except BaseException:
            _running.discard(path)
            raise
        _locked(handle)
        if _is_at(handle, path):  # no other save took it for a left one before it was locked
            return _Draft(os.fdopen(handle, "wb"), path, target)
        os.close(handle)
    raise AssertionError


def _locked(handle: int) -> bool:
    """Lock a file, unless another process has; True if it is locked now."""
    if _fcntl is None:
        return True  # there the system removes no file that is open
    try:
        _fcntl.flock(handle, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    except OSError:  # it is locked, or this file system has no locks: then nobody can tell
        return False
    return True


def _is_at(handle: int, path: str) -> bool:
    """True if an open file is still the one at ``path``."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _remove_left(path: str) -> None:
    """Remove a draft if its writer has ended."""
    if path in _running:
        return
    with contextlib.suppress(OSError):  # somebody else's, or removed by another save
        flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(path, os.O_RDWR | flags)
        try:
            is_file = stat.S_ISREG(os.fstat(handle).st_mode)
            if is_file and _locked(handle) and _is_at(handle, path):
                os.unlink(path)
        finally:
            os.close(handle)


def _take_over(handle: int, target: str, former: os.stat_result) -> None:
    """Give a new file the owner, the permissions and the labels of the one that it replaces. An
    owner whom this process may not name is this process's; a group that it may not name loses its
    rights, which another group must not get."""
    mode = stat.S_IMODE(former.st_mode)
    if hasattr(os, "fchown"):
        try:
            os.fchown(handle, former.st_uid, former.st_gid)
        except OSError:
            try:
                os.fchown(handle, -1, former.st_gid)
            except OSError:
                mode &= ~0o070
        os.fchmod(handle, mode)
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(target):
                with contextlib.suppress(OSError):
                    os.setxattr(handle, name, os.getxattr(target, name))
