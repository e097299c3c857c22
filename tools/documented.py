"""``python -m tools.documented``: of how many public operations signature, arguments and an example
are known at the keyboard."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torchlike
from torchlike._compat.help.at_the_keyboard import OperationDocstring, operations


def public() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Yield space, name and function of the public operations, and the methods of Tensor that are
    there once torchlike is imported, without those that are refused."""
    found = [(space or "torch", name, f) for space, name, f in operations() if space != "aten"]
    methods = vars(torchlike.Tensor).items()
    found += [("Tensor", n, f) for n, f in methods if isinstance(f.__doc__, OperationDocstring)]
    for space, name, function in found:
        if not name.startswith("_") and not (function.__doc__ or "").startswith("Not supported"):
            yield space, name, function


def lacks(function: Callable[..., Any]) -> list[str]:
    """Return what is not known of an operation: "signature", "arguments", "example"."""
    signature, doc = inspect.signature(function), inspect.getdoc(function) or ""
    takes = [n for n in signature.parameters if n not in ("self", "out") and not n.startswith("_")]
    missing = []
    if list(signature.parameters) in (["args", "kwargs"], ["self", "args", "kwargs"]):
        missing.append("signature")
    if takes and "Args:" not in doc:
        missing.append("arguments")
    if ">>> " not in doc:
        missing.append("example")
    return missing


def counts() -> dict[str, Counter[str]]:
    """Return for each space how many operations there are, and how many lack what."""
    made: dict[str, Counter[str]] = {}
    for space, _, function in public():
        made.setdefault(space, Counter())["operations"] += 1
        made[space].update(lacks(function))
    return made


def main() -> None:
    """Print a line for each space."""
    columns = ("operations", "signature", "arguments", "example")
    print(f"{'':16}{'operations':>12}" + "".join(f"{'no ' + c:>14}" for c in columns[1:]))
    for space, count in counts().items():
        print(
            f"{space:16}{count['operations']:>12}" + "".join(f"{count[c]:>14}" for c in columns[1:])
        )


if __name__ == "__main__":
    main()
