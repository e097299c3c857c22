"""What XLA's CPU backend is told before it starts: a flag, and how many threads it has.

``xla_cpu_disable_tiled_emitter``: in XLA as of jaxlib 0.10, a program of pointwise operations alone
(what an eager op compiles to) is emitted in tiles, which LLVM leaves as copies through the stack:
``a * b`` of 64 Ki float32 takes 21 µs, with a broadcast operand beside it, so that the other
emitter has it, 10. Without tiles 10 as well, ``-a`` 20 -> 6, ``a * b`` on 16 MB 650 -> 380; an
eager CNN step takes 0.94 of the time, an eager GPT step 0.98, compilation 0.85.

Transposing a matrix by itself takes 4 to 7 times as long without tiles, so an eager one goes
another way (``views/chains.py``).

On two cores of a Zen 4 server. Tried beside it: no new emitters at all (an MLP step 1.6 times as
long), YNNPACK for pointwise fusions (GPT 1.6 times), XNNPACK for them and the scheduler for
concurrency (no change). Not ``--xla_cpu_prefer_vector_width=512``: it gains 3 to 8 % and makes
``arctan`` of 16 or more numbers wrong in most of them.

Where the environment sets the same flag it is left as it is; ``TORCHLIKE_XLA_FLAGS=system`` leaves
all of them. Setting flags once XLA has started changes nothing.
"""

from __future__ import annotations

import os

#: What the environment said before torchlike was imported.
FOUND = os.environ.get("XLA_FLAGS", "")

_NAME = "--xla_backend_extra_options"
_OURS = f"{_NAME}=xla_cpu_disable_tiled_emitter"


def extended(flags: str) -> str:
    """``flags`` with ours behind them, unless they set it themselves."""
    return flags if _NAME in flags else f"{flags} {_OURS}".strip()


def is_ours() -> bool:
    """Whether XLA started, or will, with the flag."""
    return _OURS in os.environ.get("XLA_FLAGS", "")


def cpu_threads() -> int:
    """How many threads XLA's CPU backend starts, and splits its loops for.

    One for each core that this process may run on, or what ``PJRT_NPROC`` or ``NPROC`` says.
    """
    for name in ("PJRT_NPROC", "NPROC"):
        if (said := os.environ.get(name, "")).isdecimal():
            return int(said)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def enable() -> None:
    """Put our flag into the environment, where XLA reads it when it starts."""
    if os.environ.get("TORCHLIKE_XLA_FLAGS") != "system":
        os.environ["XLA_FLAGS"] = extended(FOUND)
