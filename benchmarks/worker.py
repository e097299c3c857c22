"""One framework in one process: serves rounds on request, sleeps in between.

``python -m benchmarks.worker FRAMEWORK`` reads one JSON request a line from stdin and answers each
with one JSON line on stdout:

    {"do": "prepare", "workload": "mlp"}   first calls and warm-up
    {"do": "round", "seconds": 0.3}        the best block of one round
    {"do": "close"}                        peak memory; the process ends

A request that fails is answered ``{"error": traceback}``. Waiting for a request is a blocking read,
so an idle worker takes no processor time; before answering it sleeps, until thread pools that spin
for a while after their last work do so as well: `SPIN_SECONDS`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks import build, clock, frameworks

#: PyTorch's OpenMP threads spin for 200 ms after their last work; XLA's pool sleeps at once (every
#: answer reports the processor time of an idle worker).
SPIN_SECONDS = {"torch": 0.25, "torchlike": 0.02, "jax": 0.02}
#: The losses of the first steps, for the coordinator to compare between frameworks.
FIRST_LOSSES = 5


class Worker:
    """The state behind the requests: the library and the runner prepared last."""

    def __init__(self, framework: frameworks.Framework) -> None:
        start = time.perf_counter()
        self.framework = framework
        self.library, self.version = build.import_library(framework)
        self.import_seconds = time.perf_counter() - start
        self.runner: clock.Runner | None = None
        self.steps = 0

    def prepare(self, workload: str) -> dict[str, Any]:
        self.runner = None  # the previous workload's arrays go before the next one's come
        runner = build.runner(self.framework, self.library, workload)
        calls = [clock.timed_call(runner) for _ in range(FIRST_LOSSES)]
        self.runner, self.steps = runner, clock.steps_per_block(runner)
        return {
            "first_s": calls[0][0],
            "second_s": calls[1][0],
            "losses": [value for _, value in calls if value is not None],
            "steps": self.steps,
        }

    def round(self, seconds: float) -> dict[str, Any]:
        if self.runner is None:
            raise RuntimeError("round before prepare")
        best, blocks = clock.best_of_round(self.runner, self.steps, seconds)
        return {"best_s": best, "blocks": blocks}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "prepare":
                return self.prepare(request["workload"])
            case "round":
                return self.round(request["seconds"])
            case "close":
                return {"peak_mb": peak_megabytes()}
        raise ValueError(f"unknown request {request!r}")


def peak_megabytes() -> float | None:
    """Return the largest resident size so far; None where the system does not tell."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1000 if found else None


def serve(label: str) -> None:
    """Answer requests until "close" or the end of the input."""
    # Libraries print; their output goes to stderr and the pipe stays for answers alone.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def reply(message: dict[str, Any]) -> None:
        pipe.write(json.dumps(message) + "\n")
        pipe.flush()

    try:
        worker = Worker(frameworks.parse(label))
    except Exception:
        reply({"error": traceback.format_exc()})
        return
    reply({"version": worker.version, "import_s": worker.import_seconds})
    slept_from = time.process_time()
    for line in sys.stdin:
        idle_cpu = time.process_time() - slept_from
        request = json.loads(line)
        try:
            message = worker.answer(request)
        except Exception:
            message = {"error": traceback.format_exc()}
        if request["do"] != "close":
            time.sleep(SPIN_SECONDS[worker.framework.library])
        slept_from = time.process_time()
        reply(message | {"idle_cpu_s": idle_cpu})
        if request["do"] == "close":
            return


if __name__ == "__main__":
    serve(sys.argv[1])
