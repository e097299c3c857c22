"""What ``sitecustomize`` needs once ``torch`` is asked for. Nobody has imported torchlike yet."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

_PORTING = Path(__file__).parent.parent
_PACKAGE = _PORTING.parent


def spec(finder: Any) -> ModuleSpec:
    """Return the spec by which torch is imported; ``finder`` has answered until then, and gives
    way."""
    return ModuleSpec("torch", _OnDemandLoader(finder))


def distributions(context: Any) -> Iterable[Any]:
    """Return the distributions that ``importlib.metadata`` finds of torch, without importing
    torchlike."""
    metadata = _run("torchlike_metadata", _PORTING / "metadata.py")
    version = _run("torchlike_version", _PACKAGE / "version.py")
    return metadata.distributions("torch", lambda: version.__version__, context)


class _OnDemandLoader(Loader):
    """Imports torchlike, and lets the alias answer from then on."""

    def __init__(self, finder: Any) -> None:
        self._finder = finder

    def exec_module(self, module: ModuleType) -> None:
        sys.meta_path.remove(self._finder)
        try:
            sys.modules.pop("torch")
            if importlib.util.find_spec("torchlike") is None:
                # It lies in a folder that only the process which started this one has on its path.
                sys.meta_path.append(_TorchlikeHere())
            alias = importlib.import_module("torchlike.porting.torch_alias").install()
            alias.find_spec("torch").loader.exec_module(module)
        except BaseException:
            sys.meta_path.insert(0, self._finder)
            raise


class _TorchlikeHere(MetaPathFinder):
    """Finds the torchlike that this file belongs to."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != "torchlike":
            return None
        return importlib.util.spec_from_file_location(fullname, _PACKAGE / "__init__.py")


def _run(name: str, file: Path) -> ModuleType:
    """Execute a file as a new module, and return the module."""
    found = importlib.util.spec_from_file_location(name, file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
