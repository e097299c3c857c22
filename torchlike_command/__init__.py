"""The console script ``torchlike``.

A package of its own, because importing anything of torchlike imports JAX, which takes a second:
what needs none of it (``--help``, ``--version``, a wrong argument) is answered without.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def main() -> int:
    """Run the command with the process's arguments; return the exit code."""
    bare = ModuleType("torchlike")
    bare.__path__ = [str(_folder())]
    sys.modules["torchlike"] = bare
    cli = importlib.import_module("torchlike.porting.cli")
    options = cli.parse(sys.argv[1:])
    if options.command == "launch":
        return cli.launch(options)
    for name in [name for name in sys.modules if name.split(".")[0] == "torchlike"]:
        del sys.modules[name]
    return importlib.import_module("torchlike.porting.cli").execute(options)


def torchrun() -> int:
    """Run ``torchlike launch`` under PyTorch's name, which the shim installs."""
    sys.argv[1:] = ["launch", *sys.argv[1:]]
    return main()


def _folder() -> Path:
    spec = importlib.util.find_spec("torchlike")  # which imports nothing
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
