"""Which globals of a checkpoint ``torch.load(weights_only=True)`` would refuse."""

from __future__ import annotations

import os
import pickletools
import zipfile
from collections.abc import Iterator
from typing import Any

from torchlike.serialization.allowed import global_name, user_globals
from torchlike.serialization.load import allowed, is_zip
from torchlike.serialization.storages import Archive


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The dotted names of classes and functions in a checkpoint that are not allowed in files
    loaded with ``weights_only=True``. Nothing in the file is executed.

    Args:
      f: a path, or a binary file that can seek.

    Raises:
      ValueError: ``f`` is no zip archive that ``torch.save`` writes.
    """
    if not hasattr(f, "read"):
        with open(os.fspath(f), "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    if not is_zip(f):
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    with zipfile.ZipFile(f) as archive:
        try:  # the very pickle that is loaded, whatever else the archive has
            code = Archive(archive, None).pickle()
        except RuntimeError as error:
            message = f"Expected input to be a checkpoint returned by torch.save: {error}"
            raise ValueError(message) from None
        found = dict.fromkeys(_globals(code))
    safe = allowed()
    return [name for name in found if name not in safe and name not in user_globals]


def _globals(code: bytes) -> Iterator[str]:
    """The dotted name of each global that a pickle asks for."""
    texts: list[str] = []
    memo: dict[int, Any] = {}
    last: Any = None
    argument: Any
    for opcode, argument, _ in pickletools.genops(code):
        kind = opcode.name
        if kind == "GLOBAL":
            module, _, name = argument.partition(" ")
            yield global_name(module, name)
        elif kind == "STACK_GLOBAL":
            yield global_name(*texts[-2:])
        elif kind in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = last
            continue
        elif kind == "MEMOIZE":
            memo[len(memo)] = last
            continue
        last = memo.get(argument) if kind in ("GET", "BINGET", "LONG_BINGET") else argument
        if isinstance(last, str) and kind != "GLOBAL":
            texts.append(last)
