"""``torchlike demo``: handwritten digits with a plain PyTorch script, eager and compiled."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from torchlike.porting.compare import CompareOptions, compare

_HERE = Path(__file__).resolve().parent
#: Where a wheel has it, and where a checkout has it.
_PLACES = (_HERE / "examples" / "digits.py", _HERE.parents[1] / "examples" / "digits.py")
_NEEDS = ("sklearn", "matplotlib")


def script() -> Path:
    """Return the path of the demo's script. FileNotFoundError where it is missing.

    Raises:
        FileNotFoundError: neither the wheel nor the checkout around this file has it.
    """
    for place in _PLACES:
        if place.is_file():
            return place
    raise FileNotFoundError(f"the demo's script is missing: looked for {_PLACES[0]}, {_PLACES[1]}")


def demo(*, with_torch: bool = False, output: Path = Path()) -> int:
    """Run the comparison of the demo's script; return the exit code."""
    lacking = [name for name in _NEEDS if importlib.util.find_spec(name) is None]
    if lacking:
        print(
            f"torchlike demo needs {' and '.join(lacking)}: pip install 'torchlike[demo]'",
            file=sys.stderr,
        )
        return 1
    # One line an epoch, not one a step.
    shows = lambda line: not line.startswith("step ")  # noqa: E731
    return compare(
        [str(script())], CompareOptions(with_torch=with_torch, output=output, shows=shows)
    )
