"""``torch.distributed.run``: torchrun, as a module. The console script is ``torchlike launch``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from torchlike._runtime.launching import agent


def main(args: Sequence[str] | None = None) -> None:
    """Run a script in several processes. SystemExit with another code than 0 where one failed."""
    code = agent.main(args, "torchrun")
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main()
