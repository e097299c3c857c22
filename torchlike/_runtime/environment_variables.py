"""The environment variables that torchlike reads: what each may say, and what it means.

Standard library only: the command prints them without importing JAX.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class EnvironmentVariable:
    """One of them, which says nothing where it is unset or empty."""

    name: str
    #: None where it may say anything.
    values: tuple[str, ...] | None
    meaning: str
    #: May it say several of the values, with commas between them?
    several: bool = False
    #: What stands for the value in the command's help, where there is no choice.
    stands_for: str = "DIR"

    def get(self, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """Return the values that the variable has; none where it is unset.

        Raises:
            ValueError: it says what it may not.
        """
        text = (os.environ if environment is None else environment).get(self.name, "")
        parts = text.replace("+", "").split(",") if self.several else [text]
        said = tuple(part.strip() for part in parts if part.strip())
        for part in said:
            if self.values is not None and part not in self.values:
                raise ValueError(f"{self.name} is {text!r}; it must be {self._choice()}")
        return said

    def _choice(self) -> str:
        assert self.values is not None
        return self.values[0] if len(self.values) == 1 else f"one of {', '.join(self.values)}"


COMPILE = EnvironmentVariable(
    "TORCHLIKE_COMPILE",
    ("off", "regions", "modules"),
    "what is compiled: nothing; what torch.compile and torchlike.jit mark (the default); or what "
    "recurs, too",
)
CHECKS = EnvironmentVariable(
    "TORCHLIKE_CHECKS",
    ("off",),
    "leave checks of values (is an index in range?) out of compiled programs",
)
LOGS = EnvironmentVariable(
    "TORCHLIKE_LOGS",
    ("recompiles", "first_calls", "kernels", "rolled", "checks"),
    "say what changed when a function is compiled again; when an operation is compiled; which "
    "kernel computes an attention on accelerators, and why not another; which loops a compiled "
    "program rolls up; which checks of values it leaves out",
    True,
)
TRACEBACK = EnvironmentVariable(
    "TORCHLIKE_TRACEBACK", ("full",), "show torchlike's own frames in tracebacks"
)
ALLOCATOR = EnvironmentVariable(
    "TORCHLIKE_ALLOCATOR", ("system",), "leave glibc's allocator as it is"
)
XLA_FLAGS = EnvironmentVariable("TORCHLIKE_XLA_FLAGS", ("system",), "leave XLA's flags as they are")
FIRST_CALLS = EnvironmentVariable(
    "TORCHLIKE_FIRST_CALLS",
    ("numpy", "compiled"),
    "how an operation on a new shape is computed at first: by NumPy (the default), or compiled",
)
EAGER = EnvironmentVariable(
    "TORCHLIKE_EAGER",
    ("immediate", "deferred", "deferred-at-once", "deferred-one-by-one"),
    "whether eager calls run at once (the default on the CPU) or are deferred until a value is "
    "asked for (on accelerators); for tests also with all pieces compiled at once, or none",
)
TORCH_VERSION = EnvironmentVariable(
    "TORCHLIKE_TORCH_VERSION",
    ("2.13", "2.14"),
    "which release of PyTorch is followed where they differ (2.13 is the default)",
)
CACHE_DIR = EnvironmentVariable(
    "TORCHLIKE_CACHE_DIR",
    None,
    "the folder for compiled programs, by default torchlike in the user's cache; empty: keep none",
)

CHILDREN = EnvironmentVariable(
    "TORCHLIKE_CHILDREN",
    None,
    "set by torchlike for the processes that a program starts: the Python in which `import torch` "
    "means torchlike; take it out of a child's environment to start it without",
    stands_for="PYTHON",
)

DEVICE_MAP = EnvironmentVariable(
    "TORCHLIKE_DEVICE_MAP",
    None,
    "what device types mean in a program in which `import torch` means torchlike: cuda=cpu; set by "
    "torchlike run --device-map, also for the processes that the program starts",
    several=True,
    stands_for="MAP",
)

CARD = EnvironmentVariable(
    "TORCHLIKE_CARD",
    None,
    "the GPU whose random numbers are drawn on accelerators, such as A100 or 108x2048 "
    "(multiprocessors, and threads of each), by default the GPU that is here, else an A100; under "
    "TORCHLIKE_DEVICE_MAP=cuda=cpu a device of the CPU's then stands for the GPU; set by torchlike "
    "run --card",
    stands_for="CARD",
)

LAUNCHER = EnvironmentVariable(
    "TORCHLIKE_LAUNCHER",
    None,
    "set by torchlike launch for the ranks that it starts: its process, with which they end",
    stands_for="PID",
)

SECRET = EnvironmentVariable(
    "TORCHLIKE_SECRET",
    None,
    "what the processes of a program know and others do not: who connects to its stores shows that "
    "it knows it; set by torchlike launch for each run on one machine; for several machines give "
    "all launchers the same, long and random",
    stands_for="TEXT",
)

ALL = (
    COMPILE,
    CHECKS,
    FIRST_CALLS,
    EAGER,
    TORCH_VERSION,
    LOGS,
    TRACEBACK,
    ALLOCATOR,
    XLA_FLAGS,
    CACHE_DIR,
    CHILDREN,
    DEVICE_MAP,
    CARD,
    LAUNCHER,
    SECRET,
)
