"""Starting scripts in several processes, by ``torchlike launch`` and by PyTorch's torchrun."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-c", "import sys; from torchlike_command import main; sys.exit(main())"]
TORCHRUN = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def launch(*args, timeout=120, **environment):
    """``torchlike launch ARGS``, ended."""
    return subprocess.run(
        [*COMMAND, "launch", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )


def results(file, folder, n=2, torchrun=False, only=()):
    """What the cases of a file give in each rank: all, or ``only`` those."""
    program = [*TORCHRUN, "--master-port", str(free_port())] if torchrun else [*COMMAND, "launch"]
    out = folder / ("torch." if torchrun else "own.")
    ended = subprocess.run(
        [
            *program,
            "--nproc-per-node",
            str(n),
            str(HERE / "runner.py"),
            str(HERE / file),
            str(free_port()),
            str(out),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "CASES": " ".join(only)},
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return [json.loads(Path(f"{out}{rank}").read_text()) for rank in range(n)]
