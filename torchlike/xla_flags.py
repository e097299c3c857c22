"""Flags of XLA that torchlike sets before XLA starts, for the CPU's sake.

``xla_cpu_disable_tiled_emitter``: in XLA as of jaxlib 0.10, a program of pointwise operations alone
(what an eager op compiles to) is emitted in tiles, which LLVM leaves as copies through the stack:
``a * b`` of 64 Ki float32 takes 21 µs, with a broadcast operand beside it, so that the other
emitter has it, 10. Without tiles 10 as well, ``-a`` 20 -> 6, ``a * b`` on 16 MB 650 -> 380; an
eager CNN step takes 0.94 of the time, an eager GPT step 0.98, compilation 0.85.

``--xla_cpu_prefer_vector_width=512``, on AMD processors that have such registers (XLA's own choice
is 256, for the clock of Intel's older ones): jitted steps MLP 0.97, GPT 0.96, LSTM 0.92, CNN 1.0.

Both on two cores of a Zen 4 server. Tried beside them: no new emitters at all (MLP 1.6 times as
long), YNNPACK for pointwise fusions (GPT 1.6 times), XNNPACK for them (no change), the scheduler
for concurrency (no change).

Flags that the environment names already are left as they are, and ``TORCHLIKE_XLA_FLAGS=system``
leaves all of them. Setting them once XLA has started changes nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

#: What the environment said before torchlike was imported.
FOUND = os.environ.get("XLA_FLAGS", "")

_WITHOUT_TILES = "--xla_backend_extra_options=xla_cpu_disable_tiled_emitter"
_WIDE_VECTORS = "--xla_cpu_prefer_vector_width=512"


def extended(flags: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """``flags`` with ours behind them, except those it sets itself."""
    ours = [_WITHOUT_TILES, _WIDE_VECTORS] if _has_wide_vectors(cpuinfo) else [_WITHOUT_TILES]
    added = [flag for flag in ours if flag.partition("=")[0] not in flags]
    return " ".join([flags, *added]).strip()


def enable() -> None:
    """Put our flags into the environment, where XLA reads them when it starts."""
    if os.environ.get("TORCHLIKE_XLA_FLAGS") != "system":
        os.environ["XLA_FLAGS"] = extended(FOUND)


def _has_wide_vectors(cpuinfo: Path) -> bool:
    try:
        # The first processor's entry: about 1.5 kB, of which the flags are most.
        with cpuinfo.open() as file:
            text = file.read(8192)
    except OSError:
        return False  # not Linux
    return "AuthenticAMD" in text and "avx512f" in text
