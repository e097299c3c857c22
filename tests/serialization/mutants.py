"""Damaged copies of a file's bytes, and what becomes of a reader that gets them. Any format."""

from __future__ import annotations

import contextlib
import random
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def mutants(whole: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """``count`` copies of ``whole``, each with bytes flipped, cut off, put in, taken out, doubled
    or overwritten. The same for the same seed."""
    draw = random.Random(seed)
    for _ in range(count):
        content = bytearray(whole)
        for _ in range(draw.choice((1, 1, 1, 2, 4))):
            _CHANGES[draw.randrange(len(_CHANGES))](content, draw)
        yield bytes(content)


def _flip(content: bytearray, draw: random.Random) -> None:
    if content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)


def _cut(content: bytearray, draw: random.Random) -> None:
    del content[draw.randrange(len(content) + 1) :]


def _insert(content: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(content) + 1)
    content[at:at] = draw.randbytes(draw.randrange(1, 9))


def _delete(content: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(content) + 1)
    del content[at : at + draw.randrange(1, 9)]


def _double(content: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(content) + 1)
    content[at:at] = content[at : at + draw.randrange(1, 65)]


def _overwrite(content: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(content) + 1)
    new = draw.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f"))
    content[at : at + 4] = new


_CHANGES = (_flip, _flip, _cut, _insert, _delete, _double, _overwrite)


@contextlib.contextmanager
def a_gigabyte_more() -> Iterator[None]:
    """Inside, the process gets a gigabyte of memory and no more: MemoryError. On Linux alone."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def is_of_memory(error: BaseException | None) -> bool:
    """Whether an error began as a MemoryError."""
    while error is not None:
        if isinstance(error, MemoryError) or "MemoryError" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def outcomes(
    files: Iterator[bytes], read: Callable[[bytes], Any], is_clear: Callable[[Exception], bool]
) -> tuple[Counter[str], list[str]]:
    """How often a reader gave something (``harmless``), a clear error, or a raw one; and what the
    raw ones were. One that asks for a gigabyte of memory is raw, whatever became of it."""
    counts: Counter[str] = Counter()
    raw: list[str] = []
    for i, content in enumerate(files):
        try:
            with a_gigabyte_more():
                read(content)
        except Exception as error:
            kind = "clear" if is_clear(error) and not is_of_memory(error) else "raw"
            if kind == "raw":
                raw.append(f"mutant {i}: {type(error).__name__}: {error}")
        else:
            kind = "harmless"
        counts[kind] += 1
    return counts, raw
