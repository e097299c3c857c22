"""Running a script or a module as ``python`` does: names, paths, exit codes and tracebacks.

Standard library only: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

from torchlike._runtime.tracebacks import trim


class CannotRunError(Exception):
    """There is nothing to run: the message and the exit code are those of ``python``."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run(
    argv: Sequence[str],
    *,
    as_module: bool = False,
    explain: Callable[[BaseException], None] | None = None,
    prepare: Callable[[CodeType, ModuleType], CodeType] | None = None,
) -> None:
    """Run ``argv[0]``, a file, folder, zip file or ``-``, or with ``as_module`` a module's name.

    The script becomes ``__main__``, with ``sys.argv`` and ``sys.path[0]`` as Python sets them. What
    ends it with an exception ends in ``SystemExit`` here, its traceback printed without our frames;
    ``explain`` may add notes to the exception first. ``prepare`` may exchange the code, which runs
    in the module it is given too.
    """
    ending = _Ending(explain)
    try:
        code, main = _load_module(argv) if as_module else _load_script(argv)
        if prepare is not None:
            code = prepare(code, main)
    except CannotRunError as error:
        print(f"torchlike: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except SyntaxError as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        raise SystemExit(1) from None
    except SystemExit:
        raise
    except BaseException as error:
        raise SystemExit(ending.report(error)) from None

    sys.modules["__main__"] = main
    try:
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        raise SystemExit(ending.report(error)) from None


def _load_script(argv: Sequence[str]) -> tuple[CodeType, ModuleType]:
    name = argv[0]
    sys.argv = list(argv)
    if name == "-":
        _set_first_path("")
        main = _main_module(None)
        return compile(sys.stdin.read(), "<stdin>", "exec"), main
    path = os.path.join(os.getcwd(), name)  # as Python shows it: not normalised
    if pkgutil.get_importer(path) is not None and (os.path.isdir(path) or _is_archive(path)):
        return _load_folder(path)
    # Python resolves links here, so that a linked script finds its neighbours.
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        reason = f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}"
        raise CannotRunError(reason, 2) from None
    main = _main_module(None)
    main.__file__ = path
    main.__cached__ = None  # type: ignore[attr-defined]
    main.__loader__ = SourceFileLoader("__main__", path)
    return compile(source, path, "exec", dont_inherit=True), main


def _is_archive(path: str) -> bool:
    return type(pkgutil.get_importer(path)).__name__ == "zipimporter"


def _load_folder(path: str) -> tuple[CodeType, ModuleType]:
    importer = pkgutil.get_importer(path)
    spec = importer.find_spec("__main__") if importer is not None else None
    if spec is None:
        raise CannotRunError(f"can't find '__main__' module in {path!r}", 1)
    _set_first_path(path)
    return _code_of(spec, "__main__"), _main_module(spec)


def _load_module(argv: Sequence[str]) -> tuple[CodeType, ModuleType]:
    name = argv[0]
    # While packages on the way to the module are imported, Python shows this in sys.argv[0].
    sys.argv = ["-m", *argv[1:]]
    _set_first_path(os.getcwd())
    spec = _find(name)
    if spec is None:
        raise CannotRunError(f"No module named {name}", 1)
    if spec.submodule_search_locations is not None:
        package, spec = name, _find(f"{name}.__main__")
        if spec is None:
            reason = f"{package!r} is a package and cannot be directly executed"
            raise CannotRunError(f"No module named {package}.__main__; {reason}", 1)
    code = _code_of(spec, name)
    sys.argv[0] = spec.origin or name
    return code, _main_module(spec)


def _find(name: str) -> ModuleSpec | None:
    package = name.rpartition(".")[0]
    if package:
        try:
            importlib.import_module(package)
        except ImportError as error:
            # An import inside the package failed: its author wants the traceback.
            if error.name is None or not f"{package}.".startswith(f"{error.name}."):
                raise
    try:
        return importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise CannotRunError(
            f"Error while finding module specification for {name!r} "
            f"({type(error).__name__}: {error})",
            1,
        ) from None


def _code_of(spec: ModuleSpec, name: str) -> CodeType:
    get_code = getattr(spec.loader, "get_code", None)
    code = get_code(spec.name) if get_code is not None else None
    if code is None:
        raise CannotRunError(f"No code object available for {name}", 1)
    return code


def _main_module(spec: ModuleSpec | None) -> ModuleType:
    main = ModuleType("__main__")
    main.__spec__ = spec
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    if sys.version_info < (3, 14):  # later ones compute it when it is asked for
        main.__annotations__ = {}
    if spec is not None:
        main.__file__ = spec.origin
        main.__cached__ = spec.cached  # type: ignore[attr-defined]
        main.__loader__ = spec.loader
        main.__package__ = spec.parent
    return main


def _set_first_path(path: str) -> None:
    # `python -m` and a console script have put a folder of their own there; with -P nobody has.
    if not sys.flags.safe_path:
        sys.path[0:1] = [path]


class _Ending:
    """What Python does with an exception that nobody caught.

    An interrupted process ends by the signal itself, so that a shell sees it. The function for that
    is registered before the script starts, so that it comes after all of the script's own.
    """

    def __init__(self, explain: Callable[[BaseException], None] | None) -> None:
        self._explain = explain
        self._interrupted = False
        atexit.register(self._die)

    def report(self, error: BaseException) -> int:
        """Print the traceback and say the exit code."""
        if self._explain is not None:
            self._explain(error)
        trim(error)
        sys.stdout.flush()
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, KeyboardInterrupt):
            self._interrupted = True
            return 128 + signal.SIGINT
        return 1

    def _die(self) -> None:
        if self._interrupted and os.name == "posix":
            sys.stdout.flush()
            sys.stderr.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
