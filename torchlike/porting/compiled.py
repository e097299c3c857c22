"""How much of a script is compiled: nothing, the regions it marks, or what recurs, too.

``TORCHLIKE_COMPILE`` in the environment chooses:

- ``off``: ``torch.compile`` and ``torchlike.jit`` give back what they were given;
- ``regions`` (the default): they compile;
- ``modules``: they do, and all else is deferred, so that what recurs becomes programs. (The name
  is of the time when each module was compiled by itself.)
"""

from __future__ import annotations

import torchlike
from torchlike._extensions.deferred import policy, switch
from torchlike._runtime.environment_variables import COMPILE


def mode_from_environment() -> str:
    """Return the value of ``TORCHLIKE_COMPILE``.

    Raises:
        ValueError: it is none of the three modes.
    """
    return "".join(COMPILE.get()) or "regions"


def apply(mode: str) -> None:
    """Set the process to ``mode``, one of ``off``, ``regions`` and ``modules``."""
    torchlike.jit.set_mode("off" if mode == "off" else "on")
    if mode == "modules":
        switch.defer_everywhere(policy.ASKED)
