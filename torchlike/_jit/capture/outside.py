"""What code asks of the process and the system by functions written in C, and what comes of it.

Where one is called in a capture, by the user's code or by the standard library for it, a setting
(`os.getcwd`) becomes a guard. What cannot be compared (a clock, a file, a socket) would be frozen:
the program is not kept, and a call under `torch.compile` soon runs eagerly. What a capture itself
changes is refused.
"""

from __future__ import annotations

import builtins
import csv
import decimal
import gc
import locale
import os
import socket
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from torchlike._core.errors import JitCaptureError
from torchlike._jit.capture.libraries import LIBRARIES, is_library, line_of


class SettingsObserver(Protocol):
    """What is asked and told: a `FrameObserver`."""

    reasons: list[str]

    def see_setting(
        self, name: str, ask: Callable[[], Any], tell: Callable[[Any], None]
    ) -> None: ...
    def has_entered(self, frame: Any) -> bool: ...


class Setting(NamedTuple):
    """What the process can be asked for, and told."""

    name: str
    ask: Callable[[], Any]
    tell: Callable[[Any], Any]


def cannot_be_set(value: Any) -> None:
    """Do nothing: it cannot be set."""


def _locale() -> str:
    return locale.setlocale(locale.LC_ALL)


def _decimal_context() -> str:
    return repr(decimal.getcontext())


#: Settings by the functions that ask for them or set them.
_SETTINGS: dict[Any, Setting] = {
    function: setting
    for functions, setting in (
        ((os.getcwd, os.getcwdb, os.chdir), Setting("os.getcwd()", os.getcwd, os.chdir)),
        ((os.getpid,), Setting("os.getpid()", os.getpid, cannot_be_set)),
        (
            (sys.getrecursionlimit, sys.setrecursionlimit),
            Setting("sys.getrecursionlimit()", sys.getrecursionlimit, sys.setrecursionlimit),
        ),
        (
            (sys.getswitchinterval, sys.setswitchinterval),
            Setting("sys.getswitchinterval()", sys.getswitchinterval, sys.setswitchinterval),
        ),
        (
            (sys.get_int_max_str_digits, sys.set_int_max_str_digits),
            Setting(
                "sys.get_int_max_str_digits()",
                sys.get_int_max_str_digits,
                sys.set_int_max_str_digits,
            ),
        ),
        ((sys.gettrace,), Setting("sys.gettrace()", sys.gettrace, cannot_be_set)),
        (
            (gc.get_threshold, gc.set_threshold),
            Setting("gc.get_threshold()", gc.get_threshold, lambda value: gc.set_threshold(*value)),
        ),
        (
            (socket.getdefaulttimeout, socket.setdefaulttimeout),
            Setting(
                "socket.getdefaulttimeout()", socket.getdefaulttimeout, socket.setdefaulttimeout
            ),
        ),
        (
            (csv.field_size_limit,),
            Setting("csv.field_size_limit()", csv.field_size_limit, csv.field_size_limit),
        ),
        (
            (threading.get_ident, threading.get_native_id),
            Setting("threading.get_ident()", threading.get_ident, cannot_be_set),
        ),
        (
            (decimal.getcontext, decimal.setcontext, decimal.localcontext),
            Setting("decimal.getcontext()", _decimal_context, cannot_be_set),
        ),
    )
    for function in functions
}
#: Functions whose answer a capture changes.
_HIDDEN = frozenset(
    (
        gc.isenabled,
        gc.enable,
        gc.disable,
        gc.get_count,
        gc.get_objects,
        gc.get_referrers,
        gc.get_stats,
        sys.getrefcount,
    )
)
#: Modules that ask the system, with those of their functions that do not.
_ASKING: dict[str, frozenset[str]] = {
    os.stat.__module__: frozenset(
        (
            "fspath",
            "cpu_count",
            "strerror",
            "register_at_fork",
            "putenv",
            "unsetenv",
            "_exit",
            "abort",
            "major",
            "minor",
            "makedev",
            "WIFEXITED",
            "WEXITSTATUS",
            "WIFSIGNALED",
            "waitstatus_to_exitcode",
            "sysconf",
            "get_terminal_size",
        )
    ),
    "time": frozenset(("sleep", "strptime", "mktime", "get_clock_info", "tzset")),
    "_locale": frozenset(),
    **dict.fromkeys(
        (
            "_socket",
            "select",
            "_ssl",
            "_posixsubprocess",
            "fcntl",
            "termios",
            "resource",
            "_sqlite3",
            "_signal",
            "_multiprocessing",
            "_posixshmem",
            "_uuid",
            "_tracemalloc",
            "faulthandler",
            "pwd",
            "grp",
            "_winapi",
            "msvcrt",
        ),
        frozenset(),
    ),
}
#: Functions of other modules that ask.
_ASK: dict[str, frozenset[str]] = {
    "sys": frozenset(("getallocatedblocks", "_current_frames", "getsizeof")),
    "gc": frozenset(("get_freeze_count", "is_tracked")),
    "_weakref": frozenset(("getweakrefcount", "getweakrefs")),
    "io": frozenset(("open", "open_code")),
    "_thread": frozenset(("_count",)),
    "numpy._core._multiarray_umath": frozenset(("fromfile",)),
    "builtins": frozenset((builtins.input.__name__,)),
}
#: Methods of classes of datetime that ask a clock.
_NOW = frozenset(("now", "utcnow", "today"))
#: Parts of the standard library that ask for themselves alone, or about code.
_QUIET = frozenset(
    (
        "abc",
        "ast",
        "bdb",
        "cProfile",
        "codecs",
        "collections",
        "contextlib",
        "copy",
        "copyreg",
        "dataclasses",
        "dis",
        "doctest",
        "encodings",
        "enum",
        "functools",
        "gettext",
        "importlib",
        "inspect",
        "keyword",
        "linecache",
        "logging",
        "numbers",
        "opcode",
        "operator",
        "pdb",
        "pprint",
        "profile",
        "pstats",
        "re",
        "reprlib",
        "runpy",
        "site",
        "sre_compile",
        "sre_parse",
        "string",
        "sysconfig",
        "textwrap",
        "threading",
        "token",
        "tokenize",
        "traceback",
        "types",
        "typing",
        "unittest",
        "warnings",
        "weakref",
        "_weakrefset",
        "concurrent",
        "queue",
        "zipimport",
    )
)
#: Modules of libraries that read files for whoever calls them.
_READING = ("numpy.lib", "torchlike.serialization")


def is_watched(module: Any, code: types.CodeType) -> bool:
    """Return whether a library's code may ask the system for the user's."""
    name = str(module)
    if name.startswith(_READING):
        return True
    top = name.partition(".")[0]
    return top not in LIBRARIES and top not in _QUIET and is_library(module, code.co_filename)


def see(observer: SettingsObserver, frame: Any, function: Any) -> None:
    """Guard a setting, refuse a hidden one, or record the reason against a program, where a frame
    is about to call a function of a module that is written in C."""
    owner: Any = getattr(function, "__self__", None)
    if type(owner) is not types.ModuleType and not (
        getattr(owner, "__module__", None) == "datetime" and function.__name__ in _NOW
    ):
        return
    if not (asks(function) or function in _SETTINGS or function in _HIDDEN):
        return
    at = _users_frame(observer, frame)
    if at is None:
        return
    if function in _SETTINGS:
        observer.see_setting(*_SETTINGS[function])
        return
    line = line_of(at.f_code, at.f_lineno)
    if function in _HIDDEN:
        module = function.__self__.__name__
        raise JitCaptureError(
            f"{module}.{function.__name__}() ({line}) cannot be compiled: what it asks for or sets "
            "is otherwise while a function is captured.\n  Call it outside the compiled function."
        )
    if owner.__name__ == "_locale":
        observer.see_setting("locale.setlocale()", _locale, _tell_locale)
    else:
        observer.reasons.append(frozen(function.__name__, line))


def frozen(name: str, line: str) -> str:
    """Return the reason why a program cannot be kept whose code called a function."""
    return (
        f"it calls {name}() ({line}), whose result would be frozen; call it outside and pass the "
        "value as a tensor"
    )


def asks(function: Any) -> bool:
    """Return whether a function of a module or class, written in C, asks for what is another at
    each call."""
    owner, name = function.__self__, function.__name__
    if type(owner) is not types.ModuleType:
        return getattr(owner, "__module__", None) == "datetime" and name in _NOW
    pure = _ASKING.get(owner.__name__)
    if pure is not None:
        return name not in pure
    return name in _ASK.get(owner.__name__, ())


def _tell_locale(value: str) -> None:
    locale.setlocale(locale.LC_ALL, value)


def _users_frame(observer: SettingsObserver, frame: Any) -> Any:
    """Return the frame of the user's code for which a call is made; None where there is none."""
    at = frame
    while at is not None:
        if observer.has_entered(at):
            return at
        name = str(at.f_globals.get("__name__"))
        top = name.partition(".")[0]
        if top in _QUIET or (top in LIBRARIES and not name.startswith(_READING)):
            return None
        at = at.f_back
    return None
