"""The text of a program that was compiled ahead of time."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: What of a program libtpu writes once it is done.
_LAST = "*.after_codegen.txt"


@contextlib.contextmanager
def kept(platform: str) -> Iterator[tuple[dict[str, Any], Callable[[Any], str]]]:
    """Yield options for the compiler, and a function of the executable which gives its text.

    libtpu writes the text itself. Where it has an embedding's rows fetched by a SparseCore (v5p),
    the program has an ``async-update`` of several operands, which jaxlib 0.10.2 cannot read:
    ``as_text()`` ends in an internal error, though the program is compiled.
    """
    if platform != "tpu":
        yield {}, lambda executable: executable.as_text()
        return
    with tempfile.TemporaryDirectory(prefix="torchlike-plan-") as folder:

        def text(executable: Any) -> str:
            written = sorted(Path(folder).glob(_LAST))
            return written[-1].read_text(encoding="utf-8") if written else executable.as_text()

        yield {"xla_dump_to": folder, "xla_dump_hlo_as_text": True}, text
