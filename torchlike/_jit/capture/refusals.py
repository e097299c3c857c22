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


@functools.lru_cache(maxsize=4096)
def is_library_module(name: str) -> bool:
    if name == "builtins" or name.partition(".")[0] in LIBRARIES:
        return True
    module = sys.modules.get(name)
    return module is not None and is_library_file(module)


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
