"""What a capture notes where a function of a library is entered: logs, threads, entropy, settings.

Library code is not looked into. But some functions tell the outside something, or read what no name
in user code stands for, such as the environment. A new function of this kind is a line in
``_HANDLERS``.
"""

from __future__ import annotations

import _abc  # pyright: ignore[reportMissingImports]
import inspect
import os
import threading
import types
from abc import ABCMeta
from collections.abc import Callable
from typing import Any, Protocol

import jax

from torchlike._core.errors import JitCaptureError
from torchlike._jit.capture import outside
from torchlike._jit.capture.libraries import is_library, is_library_module, line_of
from torchlike._jit.guards.environment_variables import EnvironmentGuard, EnvironmentVariableGuard
from torchlike._jit.guards.objects import StateGuard
from torchlike._jit.guards.values import ValueGuard


class LibraryObserver(Protocol):
    """What handlers ask and tell: a `FrameObserver`."""

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
    if handler is None and outside.is_watched(module, code):
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
    work = (
        given.get("fn")
        or getattr(thread, "_target", None)
        or (
            getattr(thread, "function", None) or type(thread).run  # of a Timer
        )
    )
    code = getattr(inspect.unwrap(work), "__code__", None)
    if code is None or "site-packages" in code.co_filename:
        return
    if not is_library(getattr(work, "__module__", None), code.co_filename):
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
        outside.see(observer, frame, arg)


def _give_object(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    """Visit an object of the standard library's that user code is given: of which thread or process
    it is."""
    if event == "return" and arg is not None and observer.has_entered(frame.f_back):
        name = frame.f_code.co_name
        if name == "current_thread":
            observer.see_setting(
                "threading.current_thread()", threading.current_thread, outside.cannot_be_set
            )
        observer.visit(arg, f"{name}()")


def _list_threads(observer: LibraryObserver, frame: Any, event: str, arg: Any) -> None:
    if event == "call" and observer.has_entered(frame.f_back):
        observer.see_setting("threading.enumerate()", threading.enumerate, outside.cannot_be_set)


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
        and not is_library_module(cls.__module__)
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
