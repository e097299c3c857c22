"""JAX's persistent compilation cache, on by default: a second run of a script starts warm.

An op with a new shape costs 40-120 ms to compile and 4-15 ms to load from the cache. The folder is
``torchlike`` in the user's cache directory; ``TORCHLIKE_CACHE_DIR`` moves it, and an empty value
turns the cache off. A cache the user configured for JAX itself is left alone.

An entry is native code. One that somebody else may have written is not run, and of a folder in
which others may write nothing is: that is told in a line, and the program goes on without.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

from torchlike._runtime import trust, whole_files, xla_flags
from torchlike._runtime.environment_variables import CACHE_DIR
from torchlike._runtime.jax_private.caches import USED, LRUCache
from torchlike._runtime.patches import at_import

#: Beyond this size the oldest entries go, at most once a day. JAX's own bound scans the whole
#: folder at every write: with 3,000 entries a 10 ms compile became 100-200 ms.
MAX_BYTES = 2 << 30
_DAY = 24 * 3600
#: Not a warning, which some programs make an error of: they go on without.
_log = logging.getLogger(__name__)
_FOLDER_REFUSED = (
    "torchlike: compiled programs are neither read nor kept, for they are code: %s. "
    "`chmod -R go-w %s` mends what is yours; or name another folder by %s"
)
_ENTRY_REFUSED = "torchlike: a compiled program is not read but compiled again, for it is code: %s"


def default_directory() -> Path:
    """Return the directory in which compiled programs are kept unless TORCHLIKE_CACHE_DIR says
    otherwise. RuntimeError for a user without a home."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif os.name == "nt":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "torchlike"


class _Uses(threading.local):
    disk = True
    #: Whether a look-up is all that is wanted.
    looks = False


_uses = _Uses()


class _LookedUp(BaseException):
    """Ends a compilation once it has asked for its entry: JAX keeps no ``Exception`` of a cache's.

    The argument is whether there was one.
    """


def is_kept(compile: Callable[[], object]) -> bool:
    """Return whether the executable that ``compile()`` makes is on disk, so that it would be
    loaded. Only where it could not be kept is it made."""
    _uses.looks = True
    try:
        compile()
    except _LookedUp as found:
        return found.args[0]
    finally:
        _uses.looks = False
    return False


@contextlib.contextmanager
def unused() -> Iterator[None]:
    """Keep the programs of a `with` block out of the cache, and look for none there: those that are
    compiled for devices which are not here cannot be loaded again."""
    before, _uses.disk = _uses.disk, False
    try:
        yield
    finally:
        _uses.disk = before


class WholeEntries(LRUCache):
    """JAX's file cache, whose entries appear only once they are whole, and fit this process.

    JAX writes an entry in its place. A second process that looks at that moment reads half of it
    (JAX warns and compiles), and one left by a process that was killed stays torn for good.

    A program is split for the threads that XLA had when it was compiled, which JAX's key leaves
    out: compiled under ``taskset -c 0``, ``x + 1`` on 16 MB took 1.8 times as long ever after.
    On the CPU entries are therefore named by the number of threads as well.
    """

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(path, **options)
        on_cpu = jax.default_backend() == "cpu"
        self._suffix = f"-{xla_flags.cpu_threads()}threads" if on_cpu else ""

    def get(self, key: str) -> bytes | None:
        """Return the entry that is kept under ``key``, or None; None too when it is pruned at this
        moment."""
        found = self._read(key)
        if _uses.looks:
            raise _LookedUp(found is not None)
        return found

    def _read(self, key: str) -> bytes | None:
        if not _uses.disk:
            return None
        key += self._suffix
        if "://" in str(self.path):
            return super().get(key)
        try:
            with open(self._entry(key), "rb") as file:
                against = trust.reason_against(os.fstat(file.fileno()), file.name)
                if against is not None:
                    _log.warning(_ENTRY_REFUSED, against)
                    return None
                # A bounded cache reads it itself, and notes the time.
                return super().get(key) if self.eviction_enabled else file.read()
        except FileNotFoundError:
            return None

    def _entry(self, key: str) -> str:
        return os.path.join(str(self.path), f"{key}-cache")

    def _has(self, entry: str) -> bool:
        """True if there is an entry that would be read: another one is written over."""
        try:
            return trust.reason_against(os.stat(entry), entry) is None
        except OSError:
            return False

    def put(self, key: str, value: bytes) -> None:
        """Keep ``value`` under ``key`` unless there is one: written aside, then renamed."""
        if not _uses.disk:
            return
        key += self._suffix
        if self.eviction_enabled or "://" in str(self.path):
            super().put(key, value)  # a bounded cache has locks; renaming is for local disks
            return
        entry = self._entry(key)
        if self._has(entry):
            return
        # What is there has been refused, and a writer would keep its permissions.
        with contextlib.suppress(OSError):
            os.unlink(entry)
        # Not tidied at each write: listing a folder of thousands of entries takes longer. Readable
        # whatever the umask is: an entry that others may write to would not be read.
        with whole_files.writing(entry, durable=False, tidy=False, mode=0o600) as file:
            file.write(value)


def enable() -> Path | None:
    """Turn the cache on; gives its folder, or None when it stays off."""
    asked = os.environ.get(CACHE_DIR.name)
    if asked == "":
        return None
    configured = getattr(jax.config, "jax_compilation_cache_dir", None)
    if configured and asked is None:
        return Path(configured)
    try:
        folder = Path(asked) if asked else default_directory()
        trust.made_private(folder)
        if not asked:  # a folder that the user names may be meant for others to read
            trust.made_tighter(folder)
        against = trust.reason_against(folder.stat(), str(folder))
    except (OSError, RuntimeError):
        return None  # no home, or a read-only one: run without a cache rather than not at all
    if against is not None:
        _log.warning(_FOLDER_REFUSED, against, folder, CACHE_DIR.name)
        return None
    # What JAX makes its cache of at the first compilation.
    USED.replace(at_import.CACHE_CLASS, WholeEntries)
    for option, value in {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }.items():
        at_import.CACHE_OPTIONS.set_option(jax.config, option, value)
    prune(folder)
    return folder


def prune(folder: Path, max_bytes: int = MAX_BYTES, every: float = _DAY) -> None:
    """Delete the oldest entries beyond ``max_bytes``, if that was not done within ``every`` s."""
    marker = folder / "pruned"
    if marker.exists() and time.time() - marker.stat().st_mtime < every:
        return
    with contextlib.suppress(OSError):  # another process may prune or write at the same time
        marker.touch()
        whole_files.remove_drafts(str(folder))
        files = [e for e in os.scandir(folder) if e.is_file() and e.name != marker.name]
        entries = [(e.stat().st_mtime, e.stat().st_size, e.path) for e in files]
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= max_bytes:
                break
            os.unlink(path)
            total -= size
