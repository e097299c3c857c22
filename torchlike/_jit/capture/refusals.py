"""Says whose code runs, the user's or a library's, and what to write for what is refused."""

from __future__ import annotations

import functools
import inspect
import linecache
import os
import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

from torchlike._core import errors
from torchlike._core.errors import JitCaptureError
from torchlike._runtime.homes import home

#: Packages whose code is no user's: what they read is theirs to keep right.
LIBRARIES = frozenset(
    (
        "torchlike",
        "jax",
        "jaxlib",
        "numpy",
        "ml_dtypes",
        "scipy",
        "opt_einsum",
        "optax",
        "flax",
        "chex",
        "pytest",
        "_pytest",
        "pluggy",
        "IPython",
        "ipykernel",
        "coverage",
        "debugpy",
        "etils",
        "absl",
        "typing_extensions",
        "setuptools",
        "_distutils_hack",
    )
)

_stdlib = tuple(
    {p + os.sep for k, p in sysconfig.get_paths().items() if "stdlib" in k}
    | {os.path.dirname(os.__file__) + os.sep}
)


def is_library(module: Any, filename: str) -> bool:
    """Return whether code of this module and file is a library's that is not looked into."""
    if isinstance(module, str) and module.partition(".")[0] in LIBRARIES:
        return True
    if filename.startswith("<frozen") or str(module).startswith("namedtuple_"):
        return True
    return filename.startswith(_stdlib) and "site-packages" not in filename


def trace_counts() -> dict[Any, int]:
    """Return how often ``chex.assert_max_traces`` saw each function being traced: chex's own
    dictionary, where it is in use."""
    chex = sys.modules.get("chex._src.asserts_internal")
    return {} if chex is None else getattr(chex, "TRACE_COUNTER", {})


def is_library_function(fn: types.FunctionType) -> bool:
    """Return whether a function is a library's that is not looked into. A user's wrapper is not,
    though `functools.wraps` has given it the module of what it wraps."""
    stands_in, filename = fn.__globals__.get("__name__"), fn.__code__.co_filename
    return is_library(home(fn), filename) and (stands_in is None or is_library(stands_in, filename))


@functools.lru_cache(maxsize=4096)
def is_library_module(name: str) -> bool:
    if name == "builtins" or name.partition(".")[0] in LIBRARIES:
        return True
    module = sys.modules.get(name)
    return module is not None and is_library_file(module)


def is_library_class(cls: type) -> bool:
    """Return whether a class stands in a library that is not looked into."""
    return is_library_module(home(cls))


def is_library_file(module: types.ModuleType) -> bool:
    filename = getattr(module, "__file__", None)
    if filename is None:
        return module.__name__ in sys.builtin_module_names
    return is_library(module.__name__, filename)


def line_of(code: types.CodeType, line: int) -> str:
    """Return the text of a line for messages: ``model.py:12``."""
    return f"{code.co_filename.rpartition('/')[2]}:{line}"


def defined_at(fn: Callable[..., Any]) -> str:
    """Return the line where a function, or a module's forward, begins: `` (train.py:40)``, after a
    space; "" where none does."""
    code = getattr(inspect.unwrap(getattr(fn, "forward", fn)), "__code__", None)
    if code is None:
        return ""
    return f" ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})"


# -------------------------------------------------------------------------------------------------
# Says what to write instead where a capture refuses a tensor's value to Python.


#: What `PythonValues` advises where nothing better is known.
BRANCH = "torchlike.where or torchlike.cond"
_NUMBER = "the tensor itself, which arithmetic takes like a number, or return it"
_BY_QUESTION = {
    ".item()": _NUMBER,
    "float(tensor)": _NUMBER,
    "int(tensor)": _NUMBER,
    "complex(tensor)": _NUMBER,
    ".tolist()": "operations on the whole tensor, or return it",
    ".numpy()": "operations on the whole tensor, or return it",
    "a tensor used as a Python index": "indexing with the tensor (x[i]), or torchlike.gather",
    "an index": "indexing with the tensor (x[i]), or torchlike.gather",
    "format(tensor)": "print(tensor), which shows its shape, or return it and format it",
    "print(tensor)": "a returned tensor, which the caller prints",
}


def asked_and_instead(asked: str, instead: str, filename: str, line: int) -> tuple[str, str]:
    """Return what was asked for, by the statement that asks, and what to use instead."""
    if instead != BRANCH:
        return asked, instead
    if asked == "bool(tensor)" and is_assert(filename, line):
        return "an assert on a tensor's value", "an assert on a returned value"
    return asked, _BY_QUESTION.get(asked, BRANCH)


def is_assert(filename: str, line: int) -> bool:
    """Return whether a line, or the statement that it goes on with, is an ``assert``."""
    for number in range(line, max(line - 10, 0), -1):
        text = linecache.getline(filename, number).strip()
        if text.startswith(("assert ", "assert(")):
            return True
        before = linecache.getline(filename, number - 1).rstrip()
        if not before.endswith(("(", ",", "\\", "and", "or", "[", ">", "<", "==")):
            return False
    return False


# -------------------------------------------------------------------------------------------------
# `Refusals` of one capture.

#: The module whose frames stand around a body that is captured.
_AROUND = "torchlike._jit.trace.tracing"


class Refusals:
    """What one capture refused, and the errors with which it may end."""

    def __init__(self, name: str) -> None:
        #: The function's name.
        self.name = name
        #: `` (train.py:40)``: where the function begins, for what is refused when it has ended.
        self.defined_at = ""
        #: First things first, whatever user code made of the errors.
        self.errors: list[JitCaptureError] = []
        #: Errors by which JAX refused a traced array's value, as the observer sees them raised.
        self.errors_of_jax: list[BaseException] = []

    def line(self) -> str:
        """Return the user's line, which begins with a space: `` (train.py:41)``."""
        return users_line() or self.defined_at

    def refuse(self, asked: str, instead: str, lines: str | None = None) -> None:
        """Raise JitCaptureError naming the user's line, or (where it is known better) ``lines``."""
        lines = self.line() if lines is None else lines
        error = JitCaptureError(
            f"{asked} cannot be compiled: {self.name} is being captured by torchlike.jit{lines}.\n"
            f"  Use {instead}, or move it outside the jitted function."
        )
        vars(error)["place"] = asked, lines
        raise error

    def refuse_value(self, asked: str, instead: str) -> None:
        """Refuse to give a value to Python."""
        frame = errors.users_frame(_AROUND)
        shown = asked
        if frame is not None:
            place = frame.f_code.co_filename, frame.f_lineno
            shown, instead = asked_and_instead(asked, instead, *place)
        error = JitCaptureError(
            f"{shown} needs a value while {self.name} is being captured by torchlike.jit"
            f"{users_line()}.\n  It would be frozen into the compiled graph. Use {instead}, or "
            "move it outside the jitted function."
        )
        vars(error)["asked"], vars(error)["place"] = asked, (asked, users_line())
        raise error

    def remember(self, error: JitCaptureError) -> None:
        """Record the error with which the capture is to end. Its traceback will begin where user
        code catches it: the code that runs now is kept for the conversion."""
        lines = _users_lines()
        vars(error)["codes"], vars(error)["lines"] = list(lines), lines
        self.errors.append(error)

    def end_refused(self) -> None:
        """Raise the first refusal, if user code caught one and went on."""
        self._take_errors_of_jax(None)
        if self.errors:
            raise self.errors[0]

    def reason_to_end(self, error: BaseException) -> BaseException:
        """Return the error with which the capture ends that an exception left: the first refusal,
        of which this may be all that user code let out."""
        self._take_errors_of_jax(error)
        if not self.errors or isinstance(error, KeyboardInterrupt):
            return error
        return self.errors[0]

    def _take_errors_of_jax(self, raised: BaseException | None) -> None:
        """Add errors by which JAX refused user code a traced array's value, and which user code
        caught (JAX catches some itself, and goes on)."""
        raised_by_jax = self.errors_of_jax
        for error in raised_by_jax:
            tb, caught_at, line = error.__traceback__, "", ""
            while tb is not None:
                frame = tb.tb_frame
                if not is_library(frame.f_globals.get("__name__"), frame.f_code.co_filename):
                    line = f" ({frame.f_code.co_filename.rpartition('/')[2]}:{tb.tb_lineno})"
                caught_at = caught_at or str(frame.f_globals.get("__name__"))
                tb = tb.tb_next
            if error is raised or caught_at.partition(".")[0] in ("", "jax", "torchlike"):
                continue
            JitCaptureError(  # which remembers itself
                f"the value of a JAX array is needed while {self.name} is being captured by "
                f"torchlike.jit{line}, where JAX raises {type(error).__name__}.\n  There is none "
                "yet. Use jax.numpy.where or jax.lax.cond, or move it outside the jitted function."
            )
        raised_by_jax.clear()


def _users_lines() -> dict[types.CodeType, int]:
    """Return the code of the user's functions that runs below the innermost capture, outermost
    first, and at which line each is."""
    found: dict[types.CodeType, int] = {}
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != _AROUND:
        if not is_library(frame.f_globals.get("__name__"), frame.f_code.co_filename):
            found[frame.f_code] = frame.f_lineno
        frame = frame.f_back
    return dict(reversed(found.items()))


def users_line() -> str:
    """Return the user's innermost line, which begins with a space: `` (train.py:41)``; nothing once
    the captured body has ended."""
    frame = errors.users_frame(_AROUND)
    if frame is None:
        return ""
    return f" ({frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno})"
