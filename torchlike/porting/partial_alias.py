"""``import torch`` means torchlike in some packages and real PyTorch in all others.

``sys.modules`` has one ``torch`` for all, so that stays PyTorch's. What a package of the scope
imports is found under torchlike's own name: the function behind the ``import`` statement, and
``importlib.import_module``, look who asks.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from torchlike._runtime.patches import in_processes
from torchlike.porting.hints import missing


class PortedPackages(NamedTuple):
    """The packages (or modules) whose ``torch`` is torchlike: ``only`` those, or all, but for
    ``except_``."""

    only: tuple[str, ...] = ()
    except_: tuple[str, ...] = ()

    def includes(self, module: str) -> bool:
        """Return whether a module, by its full name, is one of them."""
        if _is_in(module, self.except_):
            return False
        return not self.only or _is_in(module, self.only)


def _is_in(module: str, packages: Sequence[str]) -> bool:
    return any(module == p or module.startswith(f"{p}.") for p in packages)


def install(scope: PortedPackages) -> None:
    """Have the modules of a scope import torchlike for torch, those of earlier calls too."""
    statement, function = builtins.__import__, importlib.import_module

    def import_(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        asking = (globals or {}).get("__name__", "")
        ours = _ours(name) if level == 0 and scope.includes(asking) else None
        if ours is None:
            return statement(name, globals, locals, fromlist or (), level)
        try:
            return statement(ours, globals, locals, fromlist or (), 0)
        except ModuleNotFoundError as error:
            raise _named(error, name, ours) from None

    def import_module(name: str, package: str | None = None) -> ModuleType:
        asking = sys._getframe(1).f_globals.get("__name__", "")
        ours = _ours(name) if scope.includes(asking) else None
        if ours is None:
            return function(name, package)
        try:
            return function(ours)
        except ModuleNotFoundError as error:
            raise _named(error, name, ours) from None

    in_processes.PARTIAL_ALIAS.replace(builtins, "__import__", import_)
    in_processes.PARTIAL_ALIAS.replace(importlib, "import_module", import_module)


def _ours(name: str) -> str | None:
    """Return torchlike's name for a module of torch; None for any other."""
    return f"torchlike{name[5:]}" if name == "torch" or name.startswith("torch.") else None


def _named(error: ModuleNotFoundError, name: str, ours: str) -> ModuleNotFoundError:
    """Return the error as the user is to see it, who asked for a module by PyTorch's name."""
    return ModuleNotFoundError(missing(name), name=name) if error.name == ours else error
