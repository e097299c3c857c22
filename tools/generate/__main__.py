"""python -m tools.generate [--check]: write, or check, what is made from the registries."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tools.generate import changes, page, stubs

ROOT = Path(__file__).resolve().parents[2]


def files() -> dict[Path, Callable[[], str]]:
    """Return every generated file, and the function that makes what should stand in it."""
    import torchlike
    from torchlike._core.dispatch.registry import NAMESPACES

    package, tensor = ROOT / "torchlike", torchlike.Tensor
    top, functional = NAMESPACES[""], NAMESPACES["nn.functional"]
    made = {
        package / "__init__.pyi": lambda: stubs.package(torchlike, package / "__init__.py", top),
        package / "_core/tensor_methods.pyi": lambda: stubs.methods(tensor, package / "tensor.py"),
        package / "nn/functional.pyi": lambda: stubs.functions(functional),
        ROOT / "docs/operators.md": lambda: page.text(NAMESPACES, tensor),
        ROOT / "docs/what-importing-changes.md": changes.text,
    }
    for space in ("linalg", "fft", "special"):
        made[package / space / "__init__.pyi"] = partial(stubs.functions, NAMESPACES[space])
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say what is stale")
    check = parser.parse_args().check
    made = {path: text() for path, text in files().items()}
    stale = [p for p, text in made.items() if not p.exists() or p.read_text() != text]
    for path in stale:
        print(f"{'stale' if check else 'writing'}: {path.relative_to(ROOT)}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made[path])
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
