"""What a body prints while it is captured.

A function under ``torch.compile`` prints at each call, as in PyTorch: what the capture printed is
held back, comes out when the program is there, and again at each of its later calls. It is the same
text then, because all that it was made of is guarded. Nothing is printed twice where the capture
fails and the call runs eagerly, or is made a second time.

``print`` is exchanged, not ``sys.stdout``: a debugger in the body writes to that, and is answered.
"""

from __future__ import annotations

import builtins
import io
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from torchlike.jit.recorded import Effect
from torchlike.printing import CAPTURED


class Printed:
    """A context in which this thread's ``print`` is seen, and held back if ``held``."""

    def __init__(
        self, say: Callable[[str], None], refuse_value: Callable[[str, str], None]
    ) -> None:
        self.held = False
        self._say = say
        #: What is held back: (whether to stderr, text).
        self._texts: list[tuple[bool, str]] = []
        self._refuse_value = refuse_value

    def __enter__(self) -> None:
        self._thread, self._out = threading.get_ident(), sys.stdout
        self._print, builtins.print = builtins.print, self._seen

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        builtins.print = self._print

    def _seen(self, *values: Any, file: Any = None, **how: Any) -> None:
        if threading.get_ident() != self._thread:
            self._print(*values, file=file, **how)
            return
        self._say("print")
        redirected = file is None and sys.stdout is not self._out
        if not self.held or redirected or not (file is None or file is sys.stderr):
            self._print(*values, file=file, **how)
            return
        text = io.StringIO()
        self._print(*values, file=text, **how)
        if CAPTURED in text.getvalue():
            self._refuse_value("print of a tensor", "a returned tensor, which the caller prints")
        self._texts.append((file is not None, text.getvalue()))

    def effect(self) -> Effect | None:
        """What prints it all (again); None where nothing was held back."""
        if not self._texts:
            return None
        texts = tuple(self._texts)

        def write() -> None:
            for to_stderr, text in texts:
                print(text, end="", file=sys.stderr if to_stderr else None)

        return write
