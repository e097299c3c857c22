"""StableHLO of files is parsed in a process of its own before it is parsed here.

MLIR is not made for hostile bytes: about one of 300 damaged modules ends the process that parses
it, writes over its heap, or never returns. The other process takes a quarter of a second, once for
all programs of a file, and none for those that this process has written or seen.
"""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jaxlib
import numpy as np

from torchlike.serialization.stablehlo import parsing

_log = logging.getLogger(__name__)
#: Digests of modules that are known to be parsed without harm.
_known: set[bytes] = set()
#: For a process that is stopped rather than busy, whose own limit is of time on a processor.
_PATIENCE = 600.0
#: What MLIR says of a module may be as long as it likes.
_SILENT: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def remember(module: bytes) -> None:
    """Take a module that MLIR of this process has written for one that it can read."""
    _known.add(hashlib.sha256(module).digest())


def check(modules: Sequence[bytes]) -> None:
    """Refuse modules that cannot be parsed, or whose parsing ends a process.

    Where no process can be started nothing is refused; a log says so.

    Raises:
      ValueError: in which way they are damaged.
    """
    strange = [m for m in modules if hashlib.sha256(m).digest() not in _known]
    if not strange:
        return
    content = b"".join(len(m).to_bytes(8, "little") + m for m in strange)
    places = {str(Path(package.__file__ or "").parent.parent): None for package in (jaxlib, np)}
    command = [sys.executable, "-I", "-S", parsing.__file__, *places]
    if not sys.executable or getattr(sys, "frozen", False):
        _unable("sys.executable is no Python")
        return
    try:
        done = subprocess.run(command, input=content, timeout=_PATIENCE, **_SILENT)
        status = done.returncode
    except subprocess.TimeoutExpired:
        status = None
    except OSError as error:
        _unable(error)
        return
    if status not in (None, parsing.PARSED, parsing.REFUSED) and 0 < status < 256:
        _unable(f"it ended with status {status}")  # of Python itself, or for an import
        return
    if status != parsing.PARSED:  # a signal; on Windows the number of an exception
        raise ValueError(_why(status))
    for module in strange:
        remember(module)


def _unable(why: object) -> None:
    _log.warning(
        "torchlike: StableHLO of a file is parsed without a trial in another process: %s", why
    )


def _why(status: int | None) -> str:
    if status == parsing.REFUSED:
        return "its StableHLO cannot be parsed"
    how = "does not end" if status is None else f"ended with status {status}"
    return f"its StableHLO cannot be parsed: the process that tried it {how}"
