"""The first steps of a training workload in this process, with nothing run before.

    python benchmarks/first_step.py torchlike.jit gpt

prints three lines for benchmarks/start.py to read: the seconds of the import, of the first step
(tracing, compiling or loading from the cache, and running it) and of the tenth.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

if not __package__:
    # Run as a script: the package is found from the repository's root, not from this folder.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks import build, clock, frameworks
from benchmarks.workloads import LONG, TRAINING

STEPS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("framework", type=frameworks.parse, metavar="FRAMEWORK")
    parser.add_argument("workload", choices=[*TRAINING, *LONG])
    arguments = parser.parse_args()
    framework = arguments.framework
    start = time.perf_counter()
    library, _ = build.import_library(framework)
    print(f"import {time.perf_counter() - start:.3f} s")
    runner = build.runner(framework, library, arguments.workload)
    seconds = [clock.timed_call(runner)[0] for _ in range(STEPS)]
    print(f"first step {seconds[0]:.4f} s")
    print(f"later step {seconds[-1]:.4f} s")


if __name__ == "__main__":
    main()
