"""Worker processes, seen from the coordinator."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from benchmarks import environments, frameworks

ROOT = Path(__file__).resolve().parents[1]
#: torch.compile needs half a minute for a GPT step on two cores; this is far beyond.
TIMEOUT_SECONDS = 600.0


class WorkerError(Exception):
    """A worker could not do what it was asked; the message is its traceback."""

    @property
    def summary(self) -> str:
        """The last line of the traceback: the error itself."""
        lines = str(self).strip().splitlines()
        return lines[-1] if lines else "the worker ended without a word"


class WorkerProcess:
    """A spawned ``benchmarks.worker`` with a compilation cache of its own, empty at the start."""

    def __init__(self, framework: frameworks.Framework, log: IO[bytes]) -> None:
        self.framework = framework
        self._cache = tempfile.TemporaryDirectory(prefix="benchmark-cache-")
        self._log = log
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", framework.label],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            bufsize=0,  # a request that never left must not come up again when the pipe is closed
            cwd=ROOT,
            env=os.environ | environments.variables(framework, self._cache.name),
        )
        try:
            hello = self._read()
        except WorkerError:
            self.close()
            raise
        self.version: str = hello["version"]
        self.import_seconds: float = hello["import_s"]

    def request(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            WorkerError: when the worker reports an error, ends or does not answer in time.
        """
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise WorkerError(f"the worker ended with code {self._process.wait()}") from None
        return self._read()

    def _read(self) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            if not selector.select(TIMEOUT_SECONDS):
                self._process.kill()
                raise WorkerError(f"no answer within {TIMEOUT_SECONDS:.0f} s")
        line = stdout.readline()
        if not line:
            raise WorkerError(f"the worker ended with code {self._process.wait()}")
        message = json.loads(line)
        if "error" in message:
            self._log.write(message["error"].encode())
            raise WorkerError(message["error"])
        return message

    def close(self) -> float | None:
        """End the process; gives its peak memory in MB where it could still say."""
        peak = None
        if self._process.poll() is None:
            try:
                peak = self.request("close")["peak_mb"]
            except WorkerError:
                self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()
        self._cache.cleanup()
        return peak
