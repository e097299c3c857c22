"""What users allow in files that are loaded with ``weights_only=True``."""

from __future__ import annotations

import _compat_pickle
from typing import Any

#: What users allowed: the name a file may call it by -> (the object, as they gave it).
user_globals: dict[str, tuple[Any, Any]] = {}


def in_pytorch(name: str) -> str:
    """Return a dotted name as PyTorch's files spell it: ``torch.nn…`` for what is ours."""
    return "torch" + name[len("torchlike") :] if name.startswith("torchlike.") else name


#: Modules that no file may use: what is in them runs programs.
BLOCKED_MODULES = ("sys", "os", "posix", "nt")


def global_name(module: str, name: str) -> str:
    """Return the dotted name, in Python 3's and PyTorch's spelling, of what a pickle calls by a
    module and a name: protocol 2 writes the names of Python 2, ``__builtin__.xrange``."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        module, name = _compat_pickle.NAME_MAPPING[module, name]
    else:
        module = _compat_pickle.IMPORT_MAPPING.get(module, module)
    return in_pytorch(f"{module}.{name}")


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow classes or functions, or pairs of one and its name, in files loaded with
    ``weights_only=True``."""
    for item in safe_globals:
        given, name = (
            item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
        )
        user_globals[in_pytorch(name)] = given, item


def get_safe_globals() -> list[Any]:
    """Return the classes and functions that ``add_safe_globals`` allowed, as they were given."""
    return [item for _, item in user_globals.values()]


def clear_safe_globals() -> None:
    """Forget what ``add_safe_globals`` allowed."""
    user_globals.clear()


class safe_globals:
    """``with safe_globals([...]):`` allows classes or functions within the block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self._given = safe_globals
        self._before: dict[str, tuple[Any, Any]] = {}

    def __enter__(self) -> None:
        self._before = dict(user_globals)
        add_safe_globals(self._given)

    def __exit__(self, *exc: object) -> None:
        user_globals.clear()
        user_globals.update(self._before)
