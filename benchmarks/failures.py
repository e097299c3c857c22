"""What two processes say when one goes wrong, and after how many seconds.

``python -m benchmarks.failures`` starts tests/distributed/scripts/bad_input.py in each of its ways
by ``torchlike launch``, and prints a table: the seconds until the launcher has ended (starting both
processes is among them), what was said, and how many processes were left. ``--kills 20`` kills a
rank that often besides, and counts what is left.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "tests" / "distributed" / "scripts" / "bad_input.py"
#: What goes wrong: (what is said of it, the seconds it may take).
WAYS = {
    "raises": (r"rank +: 1 .*\n.*exitcode +: 1 [^$]*ValueError: an error of rank one", 30),
    "exits": (r"rank +: 1 .*\n.*exitcode +: 3 ", 30),
    "is killed": (r"Signal 9 \(SIGKILL\) received by PID", 60),
    "is killed in a collective": (r"Signal 9 \(SIGKILL\) received by PID", 60),
    "never arrives": (r"init_process_group: rank 0 of 2 waited 8 s; rank 1 did not come", 30),
    "never calls": (r"timed out after 8 s; rank 1 has not called it", 30),
    "comes twice": (r"two processes came as rank 0 of 2", 30),
    "another world size": (r"rank 0 was started for a world of 2, rank 1 for one of 3", 30),
    "another shape": (r"mismatch.*rank 0: all_reduce\(SUM, float32 \(5,\)\); rank 1: .*\(6,\)", 30),
    "another dtype": (
        r"mismatch.*rank 0: .*float32 \(7,\)\); rank 1: .*float64 \(7,\)",
        30,
    ),
    "another order": (r"mismatch.*rank 0: all_reduce.*; rank 1: broadcast", 30),
    "a mesh that does not fit": (r"Mesh should not be bigger than default world size", 30),
    "does not divide": (r"cannot be cut into 2 equal parts", 30),
    "a port in use": (r"failed to listen on any local network address. port: \d+", 30),
}


@dataclass(frozen=True)
class Row:
    """One way in which a process went wrong."""

    way: str
    seconds: float
    limit: int
    said: str | None
    left: int
    output: str

    @property
    def is_good(self) -> bool:
        """Whether it was said what was wrong, in time, and nobody was left."""
        return self.said is not None and self.left == 0 and self.seconds <= self.limit


def _left(pids: list[int]) -> int:
    """Wait up to 5 s for the processes to end, and return how many are there then."""
    deadline = time.monotonic() + 5
    there = pids
    while there and time.monotonic() < deadline:
        there = [pid for pid in there if os.path.exists(f"/proc/{pid}")]
        time.sleep(0.05)
    return len(there)


def tried(way: str) -> Row:
    """Have it go wrong in one way."""
    words, limit = WAYS[way]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        if way == "a port in use":
            taken.listen()
        else:
            taken.close()
        command = [
            sys.executable,
            "-m",
            "torchlike",
            "launch",
            "--nproc-per-node",
            "2",
            "--master-port",
            str(port),
            str(SCRIPT),
            way,
        ]
        begun = time.monotonic()
        ended = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=2 * limit, check=False
        )
        seconds = time.monotonic() - begun
    found = re.search(words, ended.stderr) if ended.returncode == 1 else None
    said = None if found is None else found[0].splitlines()[-1].strip()
    pids = [int(n) for n in re.findall(r"pid (\d+)$", ended.stdout, re.MULTILINE)]
    return Row(way, seconds, limit, said, _left(pids), ended.stderr)


def table(rows: list[Row]) -> str:
    """Return a table with a line for each way."""
    lines = [f"{'a rank, or the ranks':<28}{'seconds':>8}{'limit':>7}{'left':>6}  said"]
    lines += [
        f"{r.way:<28}{r.seconds:>8.1f}{r.limit:>7}{r.left:>6}  {r.said or 'NOTHING'}" for r in rows
    ]
    return "\n".join(lines)


def main() -> int:
    """Print the table; return 1 where a row is not as it should be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=0, metavar="N")
    parser.add_argument("--only", choices=WAYS, action="append")
    asked = parser.parse_args()
    rows = [tried(way) for way in asked.only or WAYS]
    print(table(rows), flush=True)
    for row in rows:
        if row.said is None:
            print(f"\n{row.way}:\n{row.output[-3000:]}")
    kills = [tried(("is killed", "is killed in a collective")[i % 2]) for i in range(asked.kills)]
    if kills:
        slowest = max(k.seconds for k in kills)
        print(
            f"{len(kills)} kills: {sum(k.left for k in kills)} processes left, the slowest "
            f"{slowest:.1f} s"
        )
    return 0 if all(r.is_good for r in rows + kills) else 1


if __name__ == "__main__":
    sys.exit(main())
