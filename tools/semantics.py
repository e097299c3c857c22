"""python -m tools.semantics [-v] [AREA …]: of each area of PyTorch's semantics, how many behaviours
are equal here; with -v, how each of the others differs."""

from __future__ import annotations

import argparse

from tests.parity.semantics.behaviours import AREAS, behaviours, check, reason


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help="all areas unless given")
    parser.add_argument("-v", "--verbose", action="store_true", help="say how the others differ")
    given = parser.parse_args()
    for area in given.areas or AREAS:
        told = behaviours(area)
        unlike: dict[str, str] = {}
        for name, behaviour in told.items():
            try:
                check(behaviour)
            except Exception as error:
                unlike[name] = f"{type(error).__name__}: {error}"
        print(f"{area}: {len(told) - len(unlike)} of {len(told)} equal")
        for name, how in unlike.items():
            why = reason(area, name)
            print(f"  {name}: {why or 'no reason is listed'}")
            if given.verbose:
                print("    " + how.replace("\n", "\n    "))


if __name__ == "__main__":
    main()
