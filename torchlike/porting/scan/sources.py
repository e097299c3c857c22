"""The files to scan, and their text. What cannot be read says why, and the rest goes on."""

from __future__ import annotations

import io
import os
import tokenize
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

#: Beyond this a file is data with the name of a program.
LARGEST = 8 << 20

_SUFFIXES = (".py", ".pyi", ".ipynb")
#: Folders that hold other people's programs, or none.
_NOT_OURS_TEXT = """
__pycache__ node_modules site-packages .git .hg .venv venv .tox .ipynb_checkpoints .mypy_cache
.ruff_cache .pytest_cache .eggs
"""
_NOT_OURS = frozenset(_NOT_OURS_TEXT.split())


class UnreadableError(Exception):
    """A file has no text that could be read; the message says why."""


def files(paths: Sequence[Path], failed: Callable[[Path, str], None]) -> Iterator[Path]:
    """Yield the programs at and below ``paths``, each once, folders in alphabetical order.

    A link to a folder that was visited already, also by another name, is not followed. What cannot
    be listed or does not exist is told to ``failed``.
    """
    seen: set[tuple[int, int]] = set()
    for path in paths:
        yield from _below(path, failed, seen, is_named=True)


def _below(
    path: Path, failed: Callable[[Path, str], None], seen: set[tuple[int, int]], is_named: bool
) -> Iterator[Path]:
    try:
        status = path.stat()
        if not path.is_dir():
            if not is_named and path.suffix not in _SUFFIXES:
                return
        elif not is_named and (
            path.name in _NOT_OURS or (path / "pyvenv.cfg").exists()
        ):  # an environment
            return
        key = (status.st_dev, status.st_ino)
        if key in seen:
            return
        seen.add(key)
        if not path.is_dir():
            yield path
            return
        children = sorted(path.iterdir())
    except OSError as error:
        if (
            is_named
            or path.is_dir()
            or path.suffix in _SUFFIXES
            or isinstance(error, PermissionError)
        ):
            failed(path, error.strerror or str(error))
        return
    for child in children:
        yield from _below(child, failed, seen, is_named=False)


def text(path: Path) -> str:
    """Read the file's text, decoded as Python decodes it.

    Raises:
        UnreadableError: it is no text, too large, or cannot be opened.
    """
    try:
        if not path.is_file():
            raise UnreadableError("not a regular file")
        size = path.stat().st_size
        if size > LARGEST:
            raise UnreadableError(f"{size / 2**20:.0f} MiB: more than {LARGEST >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    return decoded(data)


def decoded(data: bytes) -> str:
    """Decode bytes: by the byte order mark or the ``coding:`` line, and as UTF-8 without either.

    Raises:
        UnreadableError: they are no text in that encoding.
    """
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16")
        if b"\0" in data:
            raise UnreadableError("binary: it has zero bytes")
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except (SyntaxError, LookupError) as error:  # LookupError: rot13 and kin are no text encodings
        raise UnreadableError(str(error)) from None
    except UnicodeDecodeError as error:
        where = data.count(b"\n", 0, error.start) + 1
        raise UnreadableError(f"not {error.encoding}, line {where}: name its encoding") from None


def shown(path: Path) -> str:
    """Return the path as it is told: from the working folder where it is below."""
    try:
        return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
    except (OSError, ValueError):
        return str(path)
