"""Parse StableHLO that a file holds. A script, which `apart` starts: it imports MLIR and no more.

Standard input: for each module eight bytes (its length, little endian), then the module. The exit
status says what became of them.
"""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

_resource: Any = importlib.import_module("resource") if os.name == "posix" else None

#: Exit statuses. Python has others, for what it cannot do; a signal: MLIR did not survive.
PARSED, REFUSED, UNABLE = 0, 10, 11
#: What a module may take: memory besides its bytes' multiple, and seconds besides those per MB.
_MEMORY, _MULTIPLE, _SECONDS = 1 << 30, 32, 5


def _bounded(size: int) -> None:
    """Take no more memory and time than modules of ``size`` bytes may need."""
    if _resource is None:
        return
    statm = Path("/proc/self/statm")
    if statm.exists():
        taken = int(statm.read_text().split()[0]) * _resource.getpagesize()
        limit = taken + _MEMORY + _MULTIPLE * size
        _lower(_resource.RLIMIT_AS, limit)
    seconds = int(sum(_resource.getrusage(_resource.RUSAGE_SELF)[:2])) + _SECONDS + (size >> 20)
    _lower(_resource.RLIMIT_CPU, seconds)
    _lower(_resource.RLIMIT_CORE, 0)


def _lower(which: int, limit: int) -> None:
    """Set a limit, unless there is a lower one, which nobody may raise."""
    hard = _resource.getrlimit(which)[1]
    limit = limit if hard == _resource.RLIM_INFINITY else min(limit, hard)
    _resource.setrlimit(which, (limit, limit))


def main() -> int:
    """Parse all modules; return the status."""
    try:
        ir = importlib.import_module("jaxlib.mlir.ir")
        stablehlo = importlib.import_module("jaxlib.mlir.dialects.stablehlo")
        chlo = importlib.import_module("jaxlib.mlir.dialects.chlo")
        sdy = importlib.import_module("jaxlib.mlir.dialects.sdy")
    except ImportError:
        return UNABLE
    content = sys.stdin.buffer.read()
    _bounded(len(content))
    at = 0
    while at < len(content):
        size = int.from_bytes(content[at : at + 8], "little")
        module = content[at + 8 : at + 8 + size]
        at += 8 + size
        with ir.Context() as context:
            context.enable_multithreading(False)
            for dialect in (stablehlo, chlo, sdy):
                dialect.register_dialect(context)
            try:
                stablehlo.deserialize_portable_artifact(context, module).operation.verify()
            except Exception:  # MLIR's words are on standard error
                return REFUSED
    return PARSED


if __name__ == "__main__":
    sys.path.extend(sys.argv[1:])
    sys.exit(main())
