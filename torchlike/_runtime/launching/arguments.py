"""The launcher's arguments: torchrun's."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_DEFAULT_PORT = 29500


@dataclass
class Options:
    """What to start, how often, and where the processes meet."""

    script: str
    args: list[str]
    nproc: int = 1
    nodes: int = 1
    node_rank: int | None = 0
    host: str = "127.0.0.1"
    #: None: any that is free.
    port: int | None = None
    run_id: str = "none"
    max_restarts: int = 0
    join_seconds: float = 600.0
    poll_seconds: float = 0.05
    log_dir: Path | None = None
    redirects: dict[int, int] = field(default_factory=dict)
    tee: dict[int, int] = field(default_factory=dict)
    shown: set[int] | None = None
    role: str = "default"
    as_module: bool = False
    without_python: bool = False


def parse(argv: Sequence[str], prog: str = "torchlike launch") -> Options:
    """Parse the arguments into options. SystemExit where they are wrong, or ask for help."""
    made = parser(prog)
    given = made.parse_args(argv)
    try:
        return options_of(given)
    except ValueError as error:
        made.error(str(error))


def options_of(given: argparse.Namespace) -> Options:
    """Return the options that parsed arguments mean. ValueError where they do not go together."""
    nproc = _processes(given.nproc_per_node)
    if ":" in given.nnodes:
        least, _, most = given.nnodes.partition(":")
        if least != most:
            raise ValueError(
                f"--nnodes {given.nnodes}: the number of nodes cannot change while a "
                "program runs; give one number"
            )
        given.nnodes = least
    nodes = int(given.nnodes)
    if nodes < 1 or nproc < 1:
        raise ValueError("--nnodes and --nproc-per-node must be 1 at least")
    host, port = given.master_addr, given.master_port
    node_rank: int | None = given.node_rank
    if given.rdzv_endpoint and not given.standalone:
        host, _, text = (
            given.rdzv_endpoint.rpartition(":")
            if ":" in given.rdzv_endpoint
            else (given.rdzv_endpoint, "", "")
        )
        port = int(text) if text else _DEFAULT_PORT
    if given.standalone or (nodes == 1 and port is None):
        host, port, nodes, node_rank = "127.0.0.1", port or None, 1, 0
    elif port is None:
        port = _DEFAULT_PORT
    if nodes > 1 and node_rank is None and given.rdzv_backend == "static":
        raise ValueError("--node-rank must be given with --nnodes and --rdzv-backend static")
    if node_rank is not None and not 0 <= node_rank < nodes:
        raise ValueError(f"--node-rank {node_rank} is out of range for {nodes} nodes")
    settings = dict(part.partition("=")[::2] for part in given.rdzv_conf.split(",") if part)
    log_dir = Path(given.log_dir) if given.log_dir else None
    return Options(
        given.script,
        given.args,
        nproc,
        nodes,
        0 if nodes == 1 else node_rank,
        host,
        port or None,
        given.rdzv_id,
        given.max_restarts,
        float(settings.get("join_timeout", settings.get("timeout", 600))),
        min(given.monitor_interval, 0.5),
        log_dir,
        _by_rank(given.redirects, nproc),
        _by_rank(given.tee, nproc),
        _ranks(given.local_ranks_filter),
        given.role,
        given.module,
        given.no_python,
    )


def _processes(text: str) -> int:
    if text in ("auto", "gpu", "cpu", "xpu"):
        return os.cpu_count() or 1 if text == "cpu" else _accelerators()
    return int(text)


def _accelerators() -> int:
    """Return how many GPUs the kernel knows, or the number of cores."""
    found = list(Path("/dev").glob("nvidia[0-9]*"))
    return len(found) or os.cpu_count() or 1


def _by_rank(text: str, nproc: int) -> dict[int, int]:
    """Parse ``3``, or ``0:1,1:3``: for each local rank 1 (stdout), 2 (stderr), 3 (both) or 0."""
    if ":" not in text:
        return dict.fromkeys(range(nproc), _stream(text))
    pairs = (part.partition(":")[::2] for part in text.split(","))
    return {int(rank): _stream(said) for rank, said in pairs}


def _stream(text: str) -> int:
    if text not in ("0", "1", "2", "3"):
        raise ValueError(f"{text!r} is none of 0 (nothing), 1 (stdout), 2 (stderr), 3 (both)")
    return int(text)


def _ranks(text: str) -> set[int] | None:
    return {int(part) for part in text.split(",")} if text else None


def parser(prog: str) -> argparse.ArgumentParser:
    """Return the parser of the launcher's arguments."""
    made = argparse.ArgumentParser(
        prog=prog,
        description="Run a script in several processes, which find each other: torch.distributed "
        "works in it. The arguments are torchrun's.",
        allow_abbrev=False,
    )

    def add(name: str, help: str, **rest: object) -> None:
        made.add_argument(f"--{name}", f"--{name.replace('-', '_')}", help=help, **rest)  # type: ignore[arg-type]

    known = os.environ.get
    add("nnodes", "how many launchers start it together", default=known("PET_NNODES", "1"))
    add(
        "nproc-per-node",
        "how many processes this one starts: a number, cpu, gpu or auto",
        default=known("PET_NPROC_PER_NODE", "1"),
    )
    add("node-rank", "this launcher's number", type=int, default=None)
    add("master-addr", "address of launcher 0", default="127.0.0.1")
    add("master-port", "port of launcher 0 (one launcher: any that is free)", type=int)
    add("rdzv-endpoint", "HOST:PORT of launcher 0", default=known("PET_RDZV_ENDPOINT", ""))
    add(
        "rdzv-backend",
        "static (launchers have a --node-rank) or c10d",
        default="static",
        choices=("static", "c10d"),
    )
    add("rdzv-id", "the program's name among launchers", default="none")
    add("rdzv-conf", "timeout=SECONDS for launchers to come", default="")
    add("standalone", "one launcher, on any port", action="store_true")
    add("max-restarts", "start all again so often when one fails", type=int, default=0)
    add("monitor-interval", "seconds between two looks at the processes", type=float, default=0.1)
    add(
        "start-method",
        "taken and not used: processes start anew",
        default="spawn",
        choices=("spawn", "fork", "forkserver"),
    )
    _add_output(made, add)
    add(
        "local-addr",
        "taken and not used: launchers are reached where they connect from",
        default=None,
    )
    made.add_argument("-m", "--module", action="store_true", help="SCRIPT is a module's name")
    add("no-python", "SCRIPT is a program", action="store_true")
    add("run-path", "SCRIPT runs by its path, as it does anyway", action="store_true")
    made.add_argument("script", metavar="SCRIPT", help="the script to run")
    made.add_argument(
        "args", nargs=argparse.REMAINDER, metavar="ARGS", help="the script's own arguments"
    ).required = False
    return made


def _add_output(parser: argparse.ArgumentParser, add: Callable[..., None]) -> None:
    """Add the options for what the processes write."""
    add("role", "what log lines begin with", default="default")
    add("log-dir", "folder for what processes write", default="")
    parser.add_argument(
        "-r",
        "--redirects",
        default="0",
        help="what goes to files: 0 nothing, 1 stdout, 2 stderr, 3 both; 0:1,1:3 by local rank",
    )
    parser.add_argument("-t", "--tee", default="0", help="what goes to files and to the console")
    add("local-ranks-filter", "show these local ranks alone: 0,1", default="")
