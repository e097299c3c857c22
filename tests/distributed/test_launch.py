"""The launcher: what it tells its workers, what it does when one fails, what it leaves behind."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from datetime import timedelta

import pytest

from tests.distributed.launching import COMMAND, HERE, free_port, launch
from torchlike._runtime.launching import agent, arguments, failures
from torchlike.distributed.rendezvous import meet as meet_others
from torchlike.distributed.stores import DistNetworkError, DistStoreError, HashStore, TCPStore

FAILING = HERE / "scripts" / "failing.py"


def _pids(text):
    return [int(n) for n in re.findall(r"pid (\d+)", text)]


def _gone(pids, seconds=10):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            return True
        time.sleep(0.05)
    return False


def test_a_rank_that_raises_with_logs(tmp_path):
    ended = launch(
        "--nproc-per-node",
        2,
        "--log-dir",
        tmp_path,
        "--tee",
        "3",
        "--redirects",
        "1:2",
        "--standalone",
        FAILING,
        "raise",
    )
    assert ended.returncode == 1
    assert re.search(r"rank +: 1 \(local_rank: 1\)\n +exitcode +: 1 ", ended.stderr)
    assert "ValueError: an error of rank one" in ended.stderr
    assert re.search(r"^\[default1\]:pid \d+$", ended.stdout, re.MULTILINE)
    (folder,) = tmp_path.iterdir()
    assert "pid" in (folder / "attempt_0" / "0" / "stdout.log").read_text()
    assert "an error of rank one" in (folder / "attempt_0" / "1" / "error.json").read_text()
    assert _gone(_pids(ended.stdout))


@pytest.mark.exhaustive
def test_a_rank_that_is_killed():
    ended = launch("--nproc-per-node", 2, FAILING, "kill")
    assert ended.returncode == 1
    assert re.search(r"rank +: 1 .*\n +exitcode +: -9 ", ended.stderr)
    assert "Signal 9 (SIGKILL) received by PID" in ended.stderr
    assert _gone(_pids(ended.stdout))


@pytest.mark.exhaustive
def test_a_rank_that_does_not_call_what_the_others_call():
    ended = launch("--nproc-per-node", 2, FAILING, "absent")
    assert ended.returncode == 1
    assert re.search(
        r"\[rank 0\] all_reduce\(SUM, float32 \(3,\)\), number 2 of group 0: timed out after 1 s; "
        r"rank 1 has not called it: its last collective of this group is number 1",
        ended.stderr,
    )
    assert _gone(_pids(ended.stdout))


@pytest.mark.full
def test_all_are_started_again():
    ended = launch("--nproc-per-node", 2, "--max-restarts", 1, FAILING, "again")
    assert ended.returncode == 0, ended.stderr
    assert sorted(re.findall(r"rank . has ended, \d", ended.stdout)) == [
        "rank 0 has ended, 1",
        "rank 1 has ended, 1",
    ]
    assert re.search(r"exitcode +: 4", ended.stderr)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGTERM, marks=pytest.mark.full), signal.SIGKILL]
)
def test_a_launcher_that_is_ended_takes_its_workers_along(how, tmp_path):
    port = free_port()
    output = tmp_path / "output"
    with output.open("w") as file:
        process = subprocess.Popen(
            [
                *COMMAND,
                "launch",
                "--nproc-per-node",
                "2",
                "--master-port",
                str(port),
                str(FAILING),
                "wait",
            ],
            stdout=file,
            stderr=file,
        )
    deadline = time.monotonic() + 60
    while len(_pids(output.read_text())) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    pids = _pids(output.read_text())
    assert len(pids) == 2, output.read_text()
    process.send_signal(how)
    assert process.wait(30) == (-how if how == signal.SIGKILL else 128 + how)
    assert _gone(pids)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.full
def test_two_launchers(tmp_path):
    script = tmp_path / "told.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group()\n"
        "x = torch.ones(1)\n"
        "dist.all_reduce(x)\n"
        "names = 'RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE'\n"
        "print('told', *[os.environ[n] for n in names.split()], x.item(), flush=True)\n"
    )
    port = str(free_port())
    processes = [
        subprocess.Popen(
            [
                *COMMAND,
                "launch",
                "--nnodes",
                "2",
                "--node-rank",
                str(n),
                "--master-port",
                port,
                str(script),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in (1, 0)
    ]
    told = [p.communicate(timeout=60)[0] for p in processes]
    assert [p.returncode for p in processes] == [0, 0]
    assert "told 1 0 2 1 1 2 2.0" in told[0]
    assert "told 0 0 2 1 0 2 2.0" in told[1]


def test_the_cause_of_several_failures_comes_first(tmp_path):
    file = tmp_path / "error.json"
    told = {"py_callstack": "all_reduce: another rank has ended (...)", "timestamp": "1"}
    file.write_text(json.dumps({"message": {"message": "x", "extraInfo": told}}))
    after = failures.Failure(0, 0, 10, 1, file, 5.0)
    cause = failures.Failure(1, 1, 11, -9, tmp_path / "none", 5.0)
    text = failures.report("s.py", [after, cause])
    assert text.index("rank      : 0") < text.index("Root cause") < text.index("rank      : 1")


def test_arguments():
    o = arguments.parse(
        [
            "--nproc_per_node=3",
            "--nnodes",
            "2",
            "--node-rank",
            "1",
            "--rdzv-endpoint",
            "host:12",
            "-m",
            "pkg.mod",
            "--lr",
            "1",
        ]
    )
    assert (o.nproc, o.nodes, o.node_rank, o.host, o.port) == (3, 2, 1, "host", 12)
    assert (o.as_module, o.script, o.args) == (True, "pkg.mod", ["--lr", "1"])
    o = arguments.parse(["-r", "0:1,1:3", "--tee", "2", "--nproc-per-node", "2", "s.py"])
    assert (o.redirects, o.tee, o.port) == ({0: 1, 1: 3}, {0: 2, 1: 2}, None)
    for wrong in (["--nnodes", "1:4", "s"], ["-r", "7", "s"], ["--nnodes", "2", "s"], []):
        with pytest.raises(SystemExit):
            arguments.parse(wrong)


def test_a_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = launch("--nproc-per-node", 2, "--master-port", port, FAILING, "raise")
        assert ended.returncode == 1
        assert f"failed to listen on any local network address. port: {port}" in ended.stderr
        with pytest.raises(DistNetworkError, match=f"port: {port}.*is_master|port: {port}"):
            TCPStore("127.0.0.1", port, 1, True)


def _together(*calls):
    """Each call in a thread of its own; what they raised, or None."""
    found = [None] * len(calls)

    def run(i):
        try:
            calls[i]()
        except Exception as error:
            found[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return found


@pytest.mark.exhaustive
def test_ranks_that_do_not_fit():
    def meet(store, rank, size, seconds=5.0):
        return lambda: meet_others(store, rank, size, timedelta(seconds=seconds))

    store = HashStore()
    assert _together(*(meet(store, r, 3) for r in range(3))) == [None] * 3
    store = HashStore()
    (late,) = _together(meet(store, 0, 3, 0.2))
    assert isinstance(late, DistStoreError)
    assert re.search(r"rank 0 of 3 waited 0 s; rank 1, 2 did not come", str(late))
    store = HashStore()
    first, second = _together(meet(store, 0, 2), meet(store, 1, 3))
    assert isinstance(first, ValueError)
    assert isinstance(second, ValueError)
    assert "rank 0 was started for a world of 2, rank 1 for one of 3" in str(first)
    store = HashStore()
    found = [e for e in _together(meet(store, 0, 2, 0.5), meet(store, 0, 2, 0.5)) if e is not None]
    assert any("two processes came as rank 0 of 2" in str(e) for e in found)


@pytest.mark.full
def test_twenty_kills_leave_nobody():
    for i in range(20):
        ended = launch("--nproc-per-node", 2, FAILING, "kill" if i % 2 else "exit")
        assert ended.returncode == 1
        assert _gone(_pids(ended.stdout))


def test_signals_that_are_ignored_stay_so():
    """What nohup starts does not end with its terminal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with agent._signals_raise():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            with pytest.raises(agent._SignalError):
                signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
