"""Run a script twice and print what took its time: Python's functions, then operations.

    python -m torchlike.utils.bottleneck script.py --its-arguments

In the script ``torch`` means torchlike. The first run compiles, so the functions are those of a run
that compiles, the operations those of one that has compiled code already.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
from collections.abc import Sequence

from torchlike.autograd.profiler import profile
from torchlike.porting import script, torch_alias
from torchlike.utils.collect_env import get_pretty_env_info

#: Rows of each table.
_ROWS = 15


def _section(title: str) -> None:
    rule = "-" * 80
    print(f"{rule}\n  {title}\n{rule}")


def _run(argv: Sequence[str]) -> None:
    """Run the script. SystemExit where it ended with another code than 0."""
    try:
        script.run(list(argv))
    except SystemExit as end:
        if end.code not in (None, 0):
            raise


def main(args: Sequence[str] | None = None) -> None:
    """Print the environment and the two tables. SystemExit with the script's code where it
    fails."""
    parser = argparse.ArgumentParser(
        prog="python -m torchlike.utils.bottleneck",
        description="Run a script twice and print what took its time.",
    )
    parser.add_argument("scriptfile", help="path to the script")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the script's own arguments")
    given = parser.parse_args(args)
    argv = [given.scriptfile, *given.args]
    torch_alias.install()

    functions = cProfile.Profile()
    with functions:
        _run(argv)
    with profile() as operations:
        _run(argv)

    _section("Environment")
    print(get_pretty_env_info())
    _section(f"Python's functions, by their own time (the first {_ROWS})")
    sys.stdout.flush()
    pstats.Stats(functions).sort_stats("tottime").print_stats(_ROWS)
    _section(f"Operations, by their time on the CPU (the first {_ROWS})")
    print(operations.key_averages().table(sort_by="self_cpu_time_total", row_limit=_ROWS))


if __name__ == "__main__":
    main()
