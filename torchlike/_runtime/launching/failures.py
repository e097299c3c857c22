"""What to say of a worker that failed: its rank, its exit code, its traceback."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass
from pathlib import Path

#: What the error of a collective says that failed with another rank (``distributed/works.py``).
CONSEQUENCE = "another rank has ended"


@dataclass
class Failure:
    """A worker that ended with a code other than 0."""

    rank: int
    local_rank: int
    pid: int
    code: int
    error_file: Path
    when: float

    def _error(self) -> tuple[str, float]:
        """Return the error that the worker wrote, and its time."""
        try:
            told = json.loads(self.error_file.read_text())["message"]
        except (OSError, ValueError, KeyError):
            return "", self.when
        if isinstance(told, str):
            return told, self.when
        extra = told.get("extraInfo", {})
        return extra.get("py_callstack") or told.get("message", ""), float(
            extra.get("timestamp", self.when)
        )

    def order(self) -> tuple[bool, float]:
        """Return the key by which several failures are sorted, the cause first: whether it failed
        because another rank had ended, and when it failed, as far as is known."""
        text, when = self._error()
        return CONSEQUENCE in text, min(when, self.when) if self.code >= 0 else self.when

    def __str__(self) -> str:
        code = f"exitcode  : {self.code} (pid: {self.pid})"
        text = self._error()[0].rstrip()
        if self.code < 0:
            try:
                name = signal.Signals(-self.code).name
            except ValueError:
                name = f"signal {-self.code}"
            text = text or f"Signal {-self.code} ({name}) received by PID {self.pid}"
        elif not text:
            text = "it wrote no traceback where the launcher looks: see its output above"
        when = time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(self.when))
        lines = "\n".join(f"    {line}" for line in text.splitlines())
        return (
            f"  time      : {when}\n  rank      : {self.rank} (local_rank: {self.local_rank})\n"
            f"  {code}\n  error_file: {self.error_file if self.error_file.exists() else '<N/A>'}\n"
            f"  traceback :\n{lines}"
        )


def report(script: str, failures: list[Failure]) -> str:
    """Return the launcher's report of the workers that failed by themselves, the first one as the
    cause."""
    ordered = sorted(failures, key=Failure.order)
    rule, line = "=" * 60, "-" * 60
    parts = [rule, f"{script} FAILED", line]
    if len(ordered) > 1:
        parts += ["Other failures:", *(str(f) for f in ordered[1:]), line]
    parts += ["Root cause (first observed failure):", str(ordered[0]), rule]
    return "\n".join(parts)
