"""python -m tools.generate [--check]: write, or check, what is made from the registry."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.generate import page, stubs

ROOT = Path(__file__).resolve().parents[2]


def files() -> dict[Path, str]:
    """Every generated file and what should stand in it."""
    import torchlike
    from torchlike._dispatch.registry import NAMESPACES

    package = ROOT / "torchlike"
    made = {
        package / "__init__.pyi": stubs.package(torchlike, package / "__init__.py", NAMESPACES[""]),
        package / "_core" / "methods.pyi": stubs.methods(
            torchlike.Tensor, package / "_core" / "tensor.py"
        ),
        package / "nn/functional.pyi": stubs.functions(NAMESPACES["nn.functional"]),
        ROOT / "docs/operators.md": page.text(NAMESPACES, torchlike.Tensor),
    }
    for space in ("linalg", "fft", "special"):
        made[package / f"{space}.pyi"] = stubs.functions(NAMESPACES[space])
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say what is stale")
    check = parser.parse_args().check
    stale = [p for p, text in files().items() if not p.exists() or p.read_text() != text]
    for path in stale:
        print(f"{'stale' if check else 'writing'}: {path.relative_to(ROOT)}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(files()[path])
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
