"""What files loaded with ``weights_only=True`` may name, and what they may not, against PyTorch."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from tests.parity.oracle import compare  # noqa: E402


class Own:
    """A class that no file may name by default."""


def _file(t: Any, value: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    t.save(value, file, **options)
    file.seek(0)
    return file


@pytest.fixture(autouse=True)
def nothing_allowed() -> Iterator[None]:
    yield
    for t in (torch, torchlike):
        t.serialization.clear_safe_globals()


def _unsafe(t: Any, value: Any) -> list[str]:
    return sorted(t.serialization.get_unsafe_globals_in_checkpoint(_file(t, value)))


@pytest.mark.parametrize("allow", [[], [Own], [Own, print, os.execv, range]], ids=len)
def test_globals_that_a_file_needs(allow: list[Any]) -> None:
    def behaviour(t: Any) -> Any:
        t.serialization.add_safe_globals(allow)
        linear = t.nn.Linear(2, 2)
        return _unsafe(t, [Own(), print, os.execv, range, t.ones(3), linear, b"a", {1}, 1j])

    compare(behaviour)


def test_only_archives() -> None:
    def behaviour(t: Any) -> Any:
        file = _file(t, Own(), _use_new_zipfile_serialization=False)
        return t.serialization.get_unsafe_globals_in_checkpoint(file)

    compare(behaviour)


def test_globals_by_the_stack(tmp_path: Any) -> None:
    """A protocol in which names lie on the stack and in the memo: PyTorch reads no such file."""
    path = tmp_path / "x.pt"
    torch.save([Own(), print, print, Own(), b"a"], path, pickle_protocol=4)
    found = torchlike.serialization.get_unsafe_globals_in_checkpoint(path)
    assert set(found) == {f"{__name__}.Own", "builtins.print"}


def test_builtins_are_allowed_by_their_new_names() -> None:
    def behaviour(t: Any) -> Any:
        t.serialization.add_safe_globals([print, range])
        return str(t.load(_file(t, [print, range])))

    compare(behaviour)


@pytest.mark.parametrize("allow", [False, True])
def test_blocked_modules_stay_blocked(allow: bool) -> None:
    for t in (torch, torchlike):
        t.serialization.add_safe_globals([os.execv] if allow else [])
        with pytest.raises(Exception, match=rf"{os.name}\.execv whose module {os.name} is blocked"):
            t.load(_file(t, os.execv))
        assert t.load(_file(t, os.execv), weights_only=False) is os.execv


def test_words() -> None:
    for t in (torch, torchlike):
        with pytest.raises(Exception, match=r"Unsupported global: GLOBAL print was not an allowed"):
            t.load(_file(t, print))


def test_checksums() -> None:
    def behaviour(t: Any) -> Any:
        options = t.serialization
        before = options.get_crc32_options()
        options.set_crc32_options(False)
        try:
            return before, options.get_crc32_options(), t.load(_file(t, t.ones(3)))
        finally:
            options.set_crc32_options(True)

    compare(behaviour)
