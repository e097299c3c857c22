"""python -m tools.new_op NAME [--family elementwise/unary]: the skeleton of an op.

It writes the op into the family's file, one line into the table of cases that compares it with
PyTorch, and the generated files. What is left to do is the function, and its sentence.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: The table of cases for each folder of ops: file, name of the list.
TABLES = {
    "elementwise": ("op_cases_core", "ELEMENTWISE"),
    "reduce": ("op_cases_core", "REDUCTIONS"),
    "linalg": ("op_cases_core", "MATMUL"),
    "indexing": ("op_cases", "GATHERING"),
    "shape": ("op_cases", "SHAPING"),
    "special": ("op_cases_special", "SPECIAL"),
}

SKELETON = '''

@op({facts})
def {name}(input: Input):
    """The elements of ``input`` (say what is computed, from which source, and the errors)."""
    return input * 1  # a pure function of jax arrays
'''


def skeleton(name: str, folder: str) -> str:
    """Write the text of an op: of an elementwise one where the folder is theirs."""
    facts = "elementwise=True, inplace=True" if folder == "elementwise" else ""
    return SKELETON.format(name=name, facts=facts)


def with_imports(source: str) -> str:
    """Add to a family's file the imports of the names which the skeleton uses."""
    for module, name in (("registry", "op"), ("schema", "Input")):
        line = re.search(rf"^from torchlike\._core\.dispatch\.{module} import (.*)$", source, re.M)
        if line is None:
            raise SystemExit(f"the family's file does not import {name} from dispatch.{module}")
        names = sorted({*line[1].split(", "), name}, key=str.casefold)
        source = source.replace(
            line[0], f"from torchlike._core.dispatch.{module} import {', '.join(names)}"
        )
    return source


def with_case(table: str, source: str, name: str) -> str:
    """Add a case for the op to a table of cases."""
    found = re.search(rf"^{table} = \[\n.*?^\]", source, re.M | re.S)
    assert found is not None, table
    return source[: found.end() - 1] + f'    case("{name}", F(2, 3)),\n' + source[found.end() - 1 :]


def write(root: Path, name: str, family: str) -> list[Path]:
    """Write the skeleton into the tree at ``root``; the files changed. SystemExit where the name is
    no identifier or taken, or there is no such family."""
    folder = family.partition("/")[0]
    source = root / "torchlike" / "_ops" / f"{family}.py"
    if not name.isidentifier() or name.startswith("_"):
        raise SystemExit(f"{name!r} is no name for an op")
    if not source.exists():
        raise SystemExit(f"there is no family {family}: {source} is missing")
    if folder not in TABLES:
        raise SystemExit(
            f"cases of {folder} stand in no one table: add the op and its case by hand"
        )
    if re.search(rf"^def {name}\b", source.read_text(), re.M):
        raise SystemExit(f"{family} has {name} already")
    module, table = TABLES[folder]
    cases = root / "tests" / "parity" / f"{module}.py"
    source.write_text(with_imports(source.read_text()) + skeleton(name, folder))
    cases.write_text(with_case(table, cases.read_text(), name))
    return [source, cases]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the op's name, PyTorch's if it has one")
    parser.add_argument("--family", default="elementwise/unary", help="a file of torchlike/_ops")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    args = parser.parse_args()
    for path in write(args.root, args.name, args.family):
        print(f"writing: {path.relative_to(args.root)}")
    return subprocess.run([sys.executable, "-m", "tools.generate"], cwd=args.root).returncode


if __name__ == "__main__":
    sys.exit(main())
