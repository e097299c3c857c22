"""Errors in scripted code, as TorchScript's interpreter tells them.

What the code raises itself, or asserts, is a ``torch.jit.Error``; what an operation or Python
raises in it a RuntimeError. Both show the lines of the code that were running.
"""

from __future__ import annotations

import dis
import linecache
from types import TracebackType

from torchlike._core.errors import JitCaptureError
from torchlike._runtime.tracebacks import of_the_script

_HEAD = "The following operation failed in the TorchScript interpreter.\n"
_RAISE = dis.opmap["RAISE_VARARGS"]


class Error(Exception):
    """What scripted code raises: no RuntimeError, as in PyTorch."""


Error.__module__ = "torchlike.jit"


def as_told(error: Exception, traceback: TracebackType | None, in_capture: bool) -> Exception:
    """Return the error that a scripted function gives for one of its body; the same where that was
    told already, or where no line of the user's was running.

    ``in_capture``: what operations raise may be how a capture ends, so it stays as it is.
    """
    if isinstance(error, (Error, JitCaptureError, Warning)) or str(error).startswith(_HEAD):
        return error
    frames, theirs = of_the_script(traceback)
    if not frames:
        return error
    raised = theirs and frames[-1].tb_frame.f_code.co_code[frames[-1].tb_lasti] == _RAISE
    if not raised and in_capture:
        return error
    words = str(error)
    if raised and not isinstance(error, AssertionError):
        kind = type(error).__qualname__
        kind = f"{type(error).__module__}.{kind}"
    else:
        kind = "RuntimeError"
        if isinstance(error, AssertionError):
            words = f"AssertionError: {words}"
        elif isinstance(error, KeyError):
            words = f"KeyError: {error.args[0]}"
    shown = "".join(_shown(frame) for frame in frames)
    text = f"{_HEAD}Traceback of TorchScript (most recent call last):\n{shown}{kind}: {words}\n"
    if raised:
        return Error(text)
    return (
        NotImplementedError(text) if isinstance(error, NotImplementedError) else RuntimeError(text)
    )


def _shown(traceback: TracebackType) -> str:
    code, at = traceback.tb_frame.f_code, traceback.tb_lineno
    line = linecache.getline(code.co_filename, at, traceback.tb_frame.f_globals).rstrip()
    place = f'  File "{code.co_filename}", line {at}, in {code.co_name}\n'
    if not line:
        return place
    indent = line[: len(line) - len(line.lstrip())]
    return f"{place}{line}\n{indent}{'~' * len(line.strip())} <--- HERE\n"
