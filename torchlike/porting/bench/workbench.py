"""Holds candidates and times them one at a time, in this process or asked from another.

Standard library only: the process that runs PyTorch uses it too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from torchlike.porting.bench.timing import Candidate, block, calls_per_block, first_call


@dataclass
class Bench:
    """What a framework has to time.

    Attributes:
      candidates: by row and mode.
      about: versions and devices.
      remarks: why a row is missing, and the like.
      digests: give what stands for the values of a result.
      work: says what a row computes; None where that is not known.
    """

    candidates: dict[tuple[str, str], Candidate]
    about: dict[str, str]
    digests: Callable[[Any], list[dict[str, Any]]]
    remarks: list[str] = field(default_factory=list)
    work: Callable[[str, str], dict[str, Any] | None] = lambda row, mode: None


class Workbench(Protocol):
    """Times candidates that it has made for some sizes."""

    def open(self, sizes: dict[str, int]) -> dict[str, Any]:
        """Make candidates; return ``rows`` (row and mode of each), ``about`` and ``remarks``."""
        ...

    def first(self, row: str, mode: str) -> dict[str, Any]:
        """Return ``seconds`` of a first call, and ``digests`` of its result; or its ``error``."""
        ...

    def calls(self, row: str, mode: str) -> int:
        """Return how many calls make a block."""
        ...

    def block(self, row: str, mode: str, calls: int) -> float:
        """Return seconds a call."""
        ...

    def work(self, row: str, mode: str) -> dict[str, Any] | None:
        """Return what a row computes a call."""
        ...


class LocalWorkbench:
    """A workbench in this process. ``make`` makes what there is to time for some sizes."""

    def __init__(self, make: Callable[[dict[str, int]], Bench]) -> None:
        self._make = make

    def open(self, sizes: dict[str, int]) -> dict[str, Any]:
        """Make candidates."""
        self._bench = self._make(sizes)
        rows = [list(key) for key in self._bench.candidates]
        return {"rows": rows, "about": self._bench.about, "remarks": self._bench.remarks}

    def first(self, row: str, mode: str) -> dict[str, Any]:
        """Time a first call."""
        try:
            seconds, result = first_call(self._bench.candidates[row, mode])
        except Exception as error:  # of the user's function: the row is left out, and says why
            first_line = str(error).strip().partition("\n")[0]
            return {"error": f"{type(error).__name__}: {first_line}"}
        return {"seconds": seconds, "digests": self._bench.digests(result)}

    def calls(self, row: str, mode: str) -> int:
        """Count the calls of a block."""
        return calls_per_block(self._bench.candidates[row, mode])

    def block(self, row: str, mode: str, calls: int) -> float:
        """Time a block."""
        return block(self._bench.candidates[row, mode], calls)

    def work(self, row: str, mode: str) -> dict[str, Any] | None:
        """Return what a row computes."""
        return self._bench.work(row, mode)


class WorkerError(Exception):
    """A process that times has ended, or could not begin."""


class RemoteWorkbench:
    """A workbench in a process of its own, which ``serve`` runs there."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
            )
        except OSError as error:
            raise WorkerError(f"{command[0]} cannot be run: {error.strerror}") from None

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def open(self, sizes: dict[str, int]) -> dict[str, Any]:
        """Make candidates."""
        return self._ask("open", sizes)

    def first(self, row: str, mode: str) -> dict[str, Any]:
        """Time a first call."""
        return self._ask("first", row, mode)

    def calls(self, row: str, mode: str) -> int:
        """Count the calls of a block."""
        return self._ask("calls", row, mode)

    def block(self, row: str, mode: str, calls: int) -> float:
        """Time a block."""
        return self._ask("block", row, mode, calls)

    def work(self, row: str, mode: str) -> dict[str, Any] | None:
        """Return what a row computes."""
        return self._ask("work", row, mode)

    def _ask(self, name: str, *given: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps([name, *given]) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended; reading says so
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError(f"the process that times ended with exit code {self._process.wait()}")
        said = json.loads(line)
        if "error" in said:
            raise WorkerError(said["error"])
        return said["result"]


def serve(workbench: Workbench) -> None:
    """Answer what a `RemoteWorkbench` asks, until its pipe closes. What is printed meanwhile goes
    to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        name, *given = json.loads(line)
        try:
            said = {"result": getattr(workbench, name)(*given)}
        except Exception as error:
            # All that a call of ours can raise is about the user's function or arguments.
            said = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(said) + "\n")
        answers.flush()
