"""``torch.distributed.run``: torchrun, as a module. The console script is ``torchlike launch``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from torchlike._runtime.launching import agent, arguments


def get_args_parser() -> argparse.ArgumentParser:
    """Return the parser of torchrun's arguments, for launchers with some of their own."""
    return arguments.parser("torchrun")


def run(args: argparse.Namespace) -> None:
    """Run what parsed arguments say. ValueError for arguments that do not go together, SystemExit
    with another code than 0 where a process failed."""
    code = agent.launch(arguments.options_of(args))
    if code:
        sys.exit(code)


def main(args: Sequence[str] | None = None) -> None:
    """Run a script in several processes. SystemExit with another code than 0 where one failed."""
    code = agent.main(args, "torchrun")
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main()
