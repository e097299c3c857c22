"""How much of PyTorch's API, weighted by how often real code refers to it, torchlike has.

    python -m tools.api_usage USAGE.csv [--kinds function method attribute]

The table has a row for each PyTorch name: ``name`` (``torch.Tensor.view``), ``kind``, and
``files``, in how many files it was found. Prints the share of names and of references that resolve,
and what is missing. Names whose function raises NotImplementedError by design count as missing.
"""

from __future__ import annotations

import argparse
import csv
import importlib
from collections import Counter
from pathlib import Path
from typing import Any


def resolve(name: str) -> Any:
    """Find the object behind ``torch.a.b``. AttributeError or ImportError where there is none."""
    parts = name.split(".")[1:]
    found: Any = importlib.import_module("torchlike")
    for i, part in enumerate(parts):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(["torchlike", *parts[: i + 1]]))
            except ModuleNotFoundError:
                if part in getattr(found, "__annotations__", {}):
                    return part  # an attribute that instances have
                raise
        found = getattr(found, part)
    return found


def is_there(name: str) -> bool:
    """Return whether the name resolves to something that works."""
    try:
        found = resolve(name)
    except (AttributeError, ImportError, NotImplementedError):
        return False
    return not (getattr(found, "__doc__", None) or "").startswith("Not supported")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--kinds", nargs="+", default=["function", "method"])
    parser.add_argument("--at-least", type=int, default=1, help="only names in so many code bases")
    options = parser.parse_args()
    names, files, missing = Counter(), Counter(), []
    with options.table.open() as table:
        for row in csv.DictReader(table):
            used = int(row["scripts_codebases"]) + int(row["libs_codebases"])
            if row["kind"] not in options.kinds or used < options.at_least:
                continue
            there = is_there(row["name"])
            names[there] += 1
            files[there] += int(row["files"])
            if not there:
                missing.append((int(row["files"]), row["name"]))
    for label, count in (("names", names), ("references", files)):
        total = sum(count.values())
        print(f"{label}: {count[True]} of {total}, {100 * count[True] / max(total, 1):.2f} %")
    for used, name in sorted(missing, reverse=True):
        print(f"{used:6d}  {name}")


if __name__ == "__main__":
    main()
