"""``torch._VF``: the package's functions without PyTorch's Python around them."""

from typing import Any

from torchlike._dispatch.registry import NAMESPACES


def __getattr__(name: str) -> Any:
    found = NAMESPACES[""].get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return found
