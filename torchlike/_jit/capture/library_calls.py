"""What a capture notes where code enters a library or asks the process by functions in C.

Where one is called in a capture, by the user's code or by the standard library for it, a setting
(`os.getcwd`) becomes a guard. What cannot be compared (a clock, a file, a socket) would be frozen:
the program is not kept, and a call under `torch.compile` soon runs eagerly. What a capture itself
changes is refused.
"""

from __future__ import annotations

import _abc  # pyright: ignore[reportMissingImports]
import builtins
import csv
import decimal
import gc
import inspect
import locale
import os
import socket
import sys
import threading
import types
from abc import ABCMeta
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax

from torchlike._core.errors import JitCaptureError
from torchlike._jit.capture.refusals import LIBRARIES, is_library, is_library_class, line_of
from torchlike._jit.guards.containers import EnvironmentGuard, EnvironmentVariableGuard
from torchlike._jit.guards.guard import ValueGuard
from torchlike._jit.guards.objects import StateGuard
from torchlike._runtime.homes import home


class SettingObserver(Protocol):
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


def see(observer: SettingObserver, frame: Any, function: Any) -> None:
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


def _users_frame(observer: SettingObserver, frame: Any) -> Any:
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


class LibraryObserver(Protocol):
    """What handlers ask and tell: a `FrameObserver`.

    What a capture notes where a function of a library is entered: logs, threads, entropy, settings.

    Library code is not looked into. But some functions tell the outside something, or read what no
    name in user code stands for, such as the environment. A new function of this kind is a line in
    ``_HANDLERS``.
    """

    guards: dict[Any, ValueGuard]
    reasons: list[str]
    errors_of_jax: list[BaseException]

    def say(self, by: str) -> None: ...
    def has_entered(self, frame: Any) -> bool: ...
    def is_called_by_user(self, frame: Any) -> bool: ...
    def visit(self, value: Any, label: str, depth: int = 0) -> None: ...
    def see_setting(
        self, name: str, ask: Callable[[], Any], tell: Callable[[Any], None]
    ) -> None: ...


#: ``handler(observer, frame, event, what the profiler tells with it)``.
Handler = Callable[[LibraryObserver, Any, str, Any], None]

_REFUSALS_OF_JAX = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
#: The class of ``os.environ`` and ``os.environb``.
_Environment: Any = type(os.environ)
#: What functions of torchlike's generators do that only the Python body would call.
_GENERATORS = {
    "manual_seed": "seeds a generator",
    "seed": "seeds a generator",
    "get_state": "reads a generator's state",
    "initial_seed": "reads a generator's seed",
}


def handler_of(module: Any, code: types.CodeType) -> Handler | None:
    """Return the handler for when a library's code, of a module, is entered or left or calls what
    is written in C; mostly None."""
    handler = _HANDLERS.get(_key(code))
    if handler is None and is_watched(module, code):
        return _call_into_c
    return handler


def _key(code: types.CodeType) -> tuple[str, str]:
    return code.co_name, os.path.basename(code.co_filename)


def _log(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Record that user code logs: all that loggers take goes through this function."""
    if event == "call" and _logs_for_user(observer, frame):
        observer.say("logging")


def _logs_for_user(observer: LibraryObserver, frame: Any) -> bool:
    """Return whether what the standard library's logging writes comes from user code."""
    at = frame
    while at is not None and at.f_globals.get("__name__") == "logging":
        at = at.f_back
    return at is not None and at is not frame and observer.has_entered(at)


def _draw_entropy(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Record as a reason against a program that code asks the system for entropy (``Random`` only
    without a seed)."""
    if event == "call" and frame.f_locals.get("x") is None:
        file = os.path.basename(frame.f_code.co_filename).removesuffix(".py")
        observer.reasons.append(
            f"it calls {file}.{frame.f_code.co_name}(), whose result would be frozen; call it "
            "outside and pass the value as a tensor"
        )


def _use_generator(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    name = frame.f_code.co_name
    if event == "call" and frame.f_globals.get("__name__") == "torchlike.random.generator":
        observer.reasons.append(
            f"it {_GENERATORS[name]} ({name}()), which compiled code would do once per compile; do "
            "it outside"
        )


def _start_thread(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Refuse work that is about to be given to another thread, in which nothing is captured:
    JitCaptureError where it is the user's (a library's progress bar may have a thread)."""
    if event != "call":
        return
    given = frame.f_locals
    thread = given.get("self")
    work = given.get("fn") or getattr(thread, "_target", None)
    work = work or getattr(thread, "function", None) or type(thread).run  # function: of a Timer
    code = getattr(inspect.unwrap(work), "__code__", None)
    if code is None or "site-packages" in code.co_filename:
        return
    if not is_library(home(work), code.co_filename):
        at = frame
        while not observer.has_entered(at) and at.f_back is not None:
            at = at.f_back
        raise JitCaptureError(
            f"work in another thread ({line_of(at.f_code, at.f_lineno)}) cannot be compiled: "
            f"nothing captures {code.co_qualname} there.\n  Call it here, or start the thread "
            "outside the jitted function."
        )


def _make_error(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Record an error by which JAX refuses a traced array's value."""
    error = frame.f_locals.get("self")
    made = event == "return" and isinstance(error, _REFUSALS_OF_JAX)
    if made and error not in observer.errors_of_jax:
        observer.errors_of_jax.append(error)


def _use_variable(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Guard an environment variable that code reads, sets or deletes."""
    environment, name = frame.f_locals.get("self"), frame.f_locals.get("key")
    own = event == "call" and isinstance(environment, _Environment)
    if own and isinstance(name, (str, bytes)) and observer.is_called_by_user(frame):
        encoded: Any = os.fsencode(name) if isinstance(name, str) else name
        if os.name == "nt":
            encoded = os.fsdecode(encoded).upper()
        if ("environ", encoded) not in observer.guards:
            observer.guards["environ", encoded] = EnvironmentVariableGuard(encoded)


def _use_environment(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Guard which environment variables there are, where code asks for them."""
    environment = frame.f_locals.get("self")
    own = event == "call" and isinstance(environment, _Environment)
    if own and observer.is_called_by_user(frame) and "environ" not in observer.guards:
        observer.guards["environ"] = EnvironmentGuard()


def _call_into_c(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    if event == "c_call":
        see(observer, frame, arg)


def _give_object(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Visit an object of the standard library's that user code is given: of which thread or process
    it is."""
    if event == "return" and arg is not None and observer.has_entered(frame.f_back):
        name = frame.f_code.co_name
        if name == "current_thread":
            observer.see_setting(
                "threading.current_thread()", threading.current_thread, cannot_be_set
            )
        observer.visit(arg, f"{name}()")


def _list_threads(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    if event == "call" and observer.has_entered(frame.f_back):
        observer.see_setting("threading.enumerate()", threading.enumerate, cannot_be_set)


def _ask_level(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Guard the level of a logger, where user code asks what it takes."""
    logger = frame.f_locals.get("self")
    if event == "call" and observer.has_entered(frame.f_back):
        key = id(logger), _ask_level
        if key not in observer.guards:
            label = f"what the logger {logger.name!r} takes"
            observer.guards[key] = StateGuard(logger, label, _level)


def _level(logger: Any) -> tuple[int, int]:
    return logger.getEffectiveLevel(), logger.manager.disable


def _ask_random(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Guard the state of a generator of Python's random numbers, where user code asks for it."""
    if event == "call" and observer.has_entered(frame.f_back):
        observer.visit(frame.f_locals.get("self"), "random.getstate()")


def _ask_class(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Guard which classes have joined an abstract class of the user's, where code asks whether
    something is of it."""
    cls = frame.f_locals.get("cls")
    if (
        event == "call"
        and isinstance(cls, type)
        and not is_library_class(cls)
        and (observer.is_called_by_user(frame))
    ):
        key = id(cls), _ask_class
        if key not in observer.guards:
            label = f"what is registered as {cls.__qualname__}"
            observer.guards[key] = StateGuard(cls, label, _registered)


def _registered(cls: Any) -> Any:
    return _abc._get_dump(cls)[0]


def _ask_numpys_errors(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    if event == "call" and observer.has_entered(at := frame.f_back):
        raise JitCaptureError(
            f"numpy.geterr() ({line_of(at.f_code, at.f_lineno)}) cannot be compiled: it is "
            "otherwise while a function is captured.\n  Call it outside the compiled function."
        )


#: By the name of a function and of its file.
_HANDLERS: dict[tuple[str, str], Handler] = {
    ("_log", "__init__.py"): _log,
    ("__init__", "errors.py"): _make_error,
    ("start", "threading.py"): _start_thread,
    ("submit", "thread.py"): _start_thread,
    ("uuid1", "uuid.py"): _draw_entropy,
    ("uuid4", "uuid.py"): _draw_entropy,
    ("token_bytes", "secrets.py"): _draw_entropy,
    ("__init__", "random.py"): _draw_entropy,
    ("getstate", "random.py"): _ask_random,
    ("current_thread", "threading.py"): _give_object,
    ("current_process", "process.py"): _give_object,
    ("active_count", "threading.py"): _list_threads,
    ("enumerate", "threading.py"): _list_threads,
    ("isEnabledFor", "__init__.py"): _ask_level,
    ("getEffectiveLevel", "__init__.py"): _ask_level,
    _key(ABCMeta.__instancecheck__.__code__): _ask_class,
    _key(ABCMeta.__subclasscheck__.__code__): _ask_class,
    ("geterr", "_ufunc_config.py"): _ask_numpys_errors,
    **{(name, "generator.py"): _use_generator for name in _GENERATORS},
    _key(_Environment.__getitem__.__code__): _use_variable,
    _key(_Environment.__setitem__.__code__): _use_variable,
    _key(_Environment.__delitem__.__code__): _use_variable,
    _key(_Environment.__iter__.__code__): _use_environment,
    _key(_Environment.__len__.__code__): _use_environment,
    _key(_Environment.__repr__.__code__): _use_environment,
}
