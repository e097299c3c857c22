"""What names and signatures differ between two releases of PyTorch.

    python -m tools.release_names list > 2.13.json    # with each release, in its environment
    python -m tools.release_names diff 2.13.json 2.14.json > names.csv

``list`` imports the ``torch`` that is installed and walks it: modules whose path has no underscore,
their functions and classes, the methods of these, and the schemas of aten's operators. ``diff``
prints a row for each name that is added, removed or changed; of a class or module that is new, only
its own. tests/parity/names/names_of_2_14.csv says of each row what torchlike does.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import inspect
import json
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

#: Packages that are no part of what a program calls: compilers, exporters, tests of PyTorch's own.
_NO_PART = ("torch.testing", "torch.onnx", "torch.utils.benchmark.examples", "torch.contrib")
#: Private modules that programs import all the same.
_ALSO = ("torch._higher_order_ops", "torch._dynamo", "torch._C")
_AN_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def modules() -> Iterator[ModuleType]:
    """Return torch and those of its modules that have a public path and can be imported."""
    torch = importlib.import_module("torch")
    yield torch
    for found in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        name = found.name
        if ("._" in name and name not in _ALSO) or name.startswith(_NO_PART):
            continue
        try:
            yield importlib.import_module(name)
        except Exception:  # what a module says that wants another package, or a device
            continue


def signature(found: Any) -> str:
    """Return a callable's arguments and their defaults; "" of what is not written in Python."""
    try:
        whole = inspect.signature(found)
    except (TypeError, ValueError):
        return ""
    bare = (str(p.replace(annotation=p.empty)) for p in whole.parameters.values())
    return _AN_ADDRESS.sub("", f"({', '.join(bare)})")


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def names() -> dict[str, str]:
    """Return the public names of the PyTorch that is installed, each with its signature."""
    listed: dict[str, str] = {}
    met: set[int] = set()  # what is at several places stands at the first
    for module in modules():
        listed[module.__name__] = "module"
        public = set(getattr(module, "__all__", ()))
        for name, found in sorted(vars(module).items()):
            if not _is_public(name) or isinstance(found, ModuleType):
                continue
            home = getattr(found, "__module__", None)
            if name not in public and home not in (module.__name__, None):
                continue  # imported for the module's own use
            full = f"{module.__name__}.{name}"
            if callable(found) and id(found) in met:
                continue
            met.add(id(found))
            if type(found).__name__ == "tensortype":  # torch.FloatTensor and kin are a Tensor
                listed[full] = "class"
            elif isinstance(found, type):
                listed[full] = f"class{signature(found)}"
                for part, value in vars(found).items():
                    if _is_public(part) and (callable(value) or isinstance(value, property)):
                        listed[f"{full}.{part}"] = signature(getattr(found, part))
            elif callable(found):
                listed[full] = signature(found)
            elif name in public or isinstance(found, (bool, int, float, str)):
                listed[full] = "value"
    for schema in importlib.import_module("torch")._C._jit_get_all_schemas():
        text = str(schema)
        if text.startswith("aten::") and _is_public(text.removeprefix("aten::")):
            name = text.partition("(")[0]
            listed[name] = text.removeprefix(name)
    return listed


def differences(before: dict[str, str], after: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Return (change, name, what it is now) of each name that differs."""

    def has_whole(name: str, other: dict[str, str]) -> bool:
        """Whether what the name belongs to is there in the other release as well."""
        owner = name.rpartition(".")[0]
        return owner in other or owner == "" or "::" in name

    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            if has_whole(name, before):
                yield "added", name, after[name]
        elif name not in after:
            if has_whole(name, after):
                yield "removed", name, before[name]
        elif before[name] != after[name]:
            yield "changed", name, f"{before[name]} → {after[name]}"


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if sys.argv[1] == "list":
            with contextlib.redirect_stdout(sys.stderr):  # some modules print when imported
                found = names()
            json.dump(found, sys.stdout, indent=0)
            return
    before, after = (json.loads(Path(file).read_text()) for file in sys.argv[2:4])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("change", "name", "what"))
    out.writerows(differences(before, after))


if __name__ == "__main__":
    main()
