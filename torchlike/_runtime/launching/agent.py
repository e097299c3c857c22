"""The launcher itself: one for each machine. Launcher 0 serves the store that all meet at."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from torchlike._runtime.environment_variables import LAUNCHER, SECRET
from torchlike._runtime.interrupts import ignored
from torchlike._runtime.launching.arguments import Options, parse
from torchlike._runtime.launching.failures import Failure, report
from torchlike._runtime.launching.logs import Output
from torchlike._runtime.parents import ends_with_parent
from torchlike._runtime.rendezvous import secret, service
from torchlike._runtime.rendezvous.errors import DistNetworkError, DistStoreError
from torchlike._runtime.rendezvous.server import Client, TableServer
from torchlike._runtime.rendezvous.table import KeyValueTable

#: Seconds that workers get to end after they were asked to.
_GRACE = 15.0
#: Seconds between two looks at what the other launchers say.
_ASK = 1.0
#: Seconds in which other workers may fail, too, before the rest are ended.
_TOGETHER = 0.3
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_NO_SECRET = (
    "torchlike: whoever reaches the port of launcher 0 can write to the store and so to the ranks. "
    f"Give all launchers the same {SECRET.name} in their environment, long and random"
)
#: What a worker runs: it takes its place, then the script. By name, for it stands above.
WORKER = "torchlike.porting.rank"


def main(argv: Sequence[str] | None = None, prog: str = "torchlike launch") -> int:
    """Run a script in several processes; the exit code is 0 if all ended so, else 1, or 128 and
    the signal's number where a signal ended it."""
    return launch(parse(sys.argv[1:] if argv is None else argv, prog))


def launch(options: Options) -> int:
    """Do what ``main`` does, of arguments that have been parsed."""
    try:
        return Agent(options).run()
    except (DistNetworkError, DistStoreError) as error:
        print(f"torchlike: {error}", file=sys.stderr)
        return 1


class _SignalError(BaseException):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class LaunchedProcess:
    """One process, its output and the file for its error."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        rank: int,
        local_rank: int,
        output: Output,
        error_file: Path,
    ) -> None:
        self.process, self.rank, self.local_rank = process, rank, local_rank
        self.output, self.error_file = output, error_file

    def failure(self) -> Failure:
        """Return the report of a worker that has failed."""
        assert self.process.returncode is not None
        return Failure(
            self.rank,
            self.local_rank,
            self.process.pid,
            self.process.returncode,
            self.error_file,
            time.time(),
        )


class Agent:
    """Starts this machine's workers, and starts them again or ends them when one fails."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.attempt = 0
        self._secret = secret.for_run(options.nodes).encode("utf-8", "surrogateescape")
        self._workers: list[LaunchedProcess] = []
        self._service: Any = None
        self._server: TableServer | None = None
        self._client: Any = None
        self._asked = 0.0

    # -- meeting the other launchers ---------------------------------------------------------------

    def _meet(self) -> None:
        """Serve the store, or find it; know this launcher's number."""
        o = self.options
        if o.node_rank in (0, None):
            try:
                self._server = TableServer(
                    o.host, o.port or 0, KeyValueTable(), secret=self._secret
                )
                o.port = self._server.port
            except DistNetworkError:
                if o.node_rank == 0:
                    raise
        assert o.port is not None
        self._client = Client(o.host, o.port, o.join_seconds, self._secret)
        if o.node_rank is None:
            number = int(self._client.on_key("add", "launchers", b"1")[0])
            o.node_rank = 0 if self._server is not None else number if self._first() else number - 1
        key = f"launcher/{o.node_rank}"
        if int(self._client.on_key("add", key, b"1")[0]) > 1:
            raise DistStoreError(f"two launchers came with --node-rank {o.node_rank}")

    def _first(self) -> bool:
        """Return whether launcher 0 has still to count itself."""
        return bool(self._client.missing(["launcher/0"]))

    def _key(self, name: str) -> str:
        return f"launch/{self.attempt}/{name}"

    def _places(self) -> tuple[int, int]:
        """Return the rank of this launcher's first worker, and how many workers there are."""
        o = self.options
        keys = [self._key(f"nproc/{n}") for n in range(o.nodes)]
        self._client.set((keys[o.node_rank or 0], str(o.nproc).encode()))
        try:
            counts = [int(raw) for raw in self._client.get(o.join_seconds, *keys)]
        except DistStoreError:
            missing = ", ".join(k.rpartition("/")[2] for k in self._client.missing(keys))
            raise DistStoreError(
                f"launcher {o.node_rank} of {o.nodes} waited {o.join_seconds:.0f} s at "
                f"{o.host}:{o.port}; launcher {missing} did not come"
            ) from None
        return sum(counts[: o.node_rank or 0]), sum(counts)

    # -- workers -----------------------------------------------------------------------------------

    def _environment(
        self, rank: int, local_rank: int, size: int, error_file: Path
    ) -> dict[str, str]:
        o = self.options
        own = {
            "LOCAL_RANK": local_rank,
            "RANK": rank,
            "GROUP_RANK": o.node_rank,
            "ROLE_RANK": rank,
            "ROLE_NAME": o.role,
            "LOCAL_WORLD_SIZE": o.nproc,
            "WORLD_SIZE": size,
            "GROUP_WORLD_SIZE": o.nodes,
            "ROLE_WORLD_SIZE": size,
            "MASTER_ADDR": o.host,
            "MASTER_PORT": o.port,
            "TORCHELASTIC_RESTART_COUNT": self.attempt,
            "TORCHELASTIC_MAX_RESTARTS": o.max_restarts,
            "TORCHELASTIC_RUN_ID": o.run_id,
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "TORCHELASTIC_ERROR_FILE": error_file,
            LAUNCHER.name: os.getpid(),
            SECRET.name: os.fsdecode(self._secret),
        }
        environment = {**os.environ, **{name: str(value) for name, value in own.items()}}
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if o.nproc > 1:
            environment.setdefault("OMP_NUM_THREADS", "1")
            if "NPROC" not in environment:
                environment.setdefault("PJRT_NPROC", str(max(2, (cores or 1) // o.nproc)))
        return environment

    def _command(self) -> list[str]:
        o = self.options
        if o.without_python:
            return [o.script, *o.args]
        mode = ["-m"] if o.as_module else []
        return [sys.executable, "-u", "-m", WORKER, *mode, o.script, *o.args]

    def _start(self, logs: Path) -> None:
        o = self.options
        first, size = self._places()
        for local in range(o.nproc):
            folder = logs / f"attempt_{self.attempt}" / str(local)
            folder.mkdir(parents=True, exist_ok=True)
            rank = first + local
            error_file = folder / "error.json"
            output = Output(
                folder,
                o.redirects.get(local, 0),
                o.tee.get(local, 0),
                o.shown is None or local in o.shown,
                f"[{o.role}{rank}]:",
            )
            process: Any = subprocess.Popen(
                self._command(),
                env=self._environment(rank, local, size, error_file),
                preexec_fn=_ends_with_launcher if o.without_python else None,
                **output.streams,
            )
            output.follow(process)
            self._workers.append(LaunchedProcess(process, rank, local, output, error_file))
        if o.node_rank == 0 and size > 1:
            self._service, port = service.serve(size, o.join_seconds, o.host)
            self._client.set((self._key("coordinator"), f"{o.host}:{port}".encode()))

    def _watch(self) -> list[Failure] | None:
        """Return once all workers of all launchers have ended, None, or one has failed: those here
        that have (none where another launcher's has)."""
        while True:
            failed = [w for w in self._workers if w.process.poll() not in (None, 0)]
            if failed:
                time.sleep(_TOGETHER)
                return [w.failure() for w in self._workers if w.process.poll() not in (None, 0)]
            if all(w.process.returncode == 0 for w in self._workers) and self._others_done():
                return None
            if self.options.nodes > 1 and time.monotonic() > self._asked + _ASK:
                self._asked = time.monotonic()
                if not self._client.missing([self._key("failed")]):
                    return []
            time.sleep(self.options.poll_seconds)

    def _others_done(self) -> bool:
        o = self.options
        if o.nodes == 1:
            return True
        self._client.set((self._key(f"done/{o.node_rank}"), b"1"))
        return o.node_rank != 0 or not self._client.missing(
            [self._key(f"done/{n}") for n in range(o.nodes)]
        )

    def _end(self, by: int = signal.SIGTERM) -> None:
        """Ask the workers to end, then have the kernel end them."""
        running = [w.process for w in self._workers if w.process.poll() is None]
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(by)
        deadline = time.monotonic() + _GRACE
        for process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for worker in self._workers:
            worker.output.close()
        self._workers = []
        self._service = None

    # -- the whole ---------------------------------------------------------------------------------

    def run(self) -> int:
        """Run until all workers have ended, and return the exit code."""
        o = self.options
        if not self._secret and o.node_rank in (0, None):
            print(_NO_SECRET, file=sys.stderr)
        try:
            with _signals_raise(), contextlib.ExitStack() as stack:
                self._meet()
                if o.log_dir is None:
                    made = stack.enter_context(tempfile.TemporaryDirectory(prefix="torchlike-"))
                    logs = Path(made)
                else:
                    logs = o.log_dir / f"{o.run_id}_{secrets.token_hex(4)}"
                return self._attempts(logs)
        except _SignalError as received:
            name = signal.Signals(received.number).name
            print(f"torchlike: the launcher got {name}, and passes it on", file=sys.stderr)
            self._end(received.number)
            return 128 + received.number
        finally:
            self._end(signal.SIGKILL)
            if self._client is not None:
                self._client.close()
            if self._server is not None:
                self._server.close()

    def _attempts(self, logs: Path) -> int:
        o = self.options
        while True:
            self._start(logs)
            try:
                failures = self._watch()
            except DistNetworkError as error:
                raise DistNetworkError(
                    f"launcher 0 at {o.host}:{o.port} has ended: {error}"
                ) from None
            if failures is None:
                self._end()
                return 0
            if o.nodes > 1 and failures:
                self._client.set((self._key("failed"), str(failures[0].rank).encode()))
            self._end()
            if failures:
                print(report(o.script, failures), file=sys.stderr, flush=True)
            elif o.nodes > 1:
                rank = self._client.get(5.0, self._key("failed"))[0].decode()
                print(f"torchlike: rank {rank}, on another launcher, has failed", file=sys.stderr)
            if self.attempt >= o.max_restarts:
                if o.nodes > 1 and o.node_rank == 0:
                    time.sleep(2 * _ASK)  # so that the other launchers hear of it
                return 1
            self.attempt += 1
            print(
                f"torchlike: starting all workers again, {self.attempt} of {o.max_restarts}",
                file=sys.stderr,
            )


def _ends_with_launcher() -> None:
    """Have a program that is no worker of ours end with the launcher, as those do."""
    ends_with_parent(by=signal.SIGKILL)


@contextlib.contextmanager
def _signals_raise() -> Iterator[None]:
    """Turn signals that end processes into exceptions within a `with` block."""

    def received(number: int, frame: FrameType | None) -> None:
        for n in heard:
            signal.signal(n, signal.SIG_IGN)  # the first is enough
        raise _SignalError(number)

    # One that is ignored (by nohup, or by a shell in the background) stays so.
    heard = [number for number in _PASSED_ON if not ignored(number)]
    before = {number: signal.signal(number, received) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
