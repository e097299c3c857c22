"""Strangers at the ports of stores and mailboxes take no memory and change nothing."""

import contextlib
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from tests.distributed.launching import free_port, launch
from torchlike._runtime.environment_variables import SECRET
from torchlike._runtime.launching.arguments import parse
from torchlike._runtime.rendezvous import addresses, listener, secret, wire
from torchlike._runtime.rendezvous.errors import DistNetworkError, DistStoreError
from torchlike._runtime.rendezvous.server import Client, TableServer, connected
from torchlike.distributed.file_stores import FileStore
from torchlike.distributed.mailbox import Mailbox
from torchlike.distributed.stores import HashStore, TCPStore

KNOWN = b"known"


@pytest.fixture
def server():
    made = TableServer("127.0.0.1", 0, secret=KNOWN)
    yield made
    made.close()


def asking(server):
    return contextlib.closing(Client("127.0.0.1", server.port, 10.0, KNOWN))


def reached(port):
    return socket.create_connection(("127.0.0.1", port), 10)


@pytest.mark.parametrize(
    "head",
    [
        struct.pack("!QQ", 1, 6 << 30),
        struct.pack("!QQ", 1, 1 << 39),
        struct.pack("!Q", 1 << 24),
        struct.pack("!Q", 1 << 60),
        struct.pack("!QQQ", 2, 1 << 62, 1 << 62),
    ],
    ids=["6 GB", "512 GB", "many parts", "too many parts", "overflow"],
)
def test_memory_is_taken_as_bytes_arrive_not_by_what_is_declared(head):
    mine, theirs = socket.socketpair()
    with mine, theirs:
        mine.sendall(head + bytes(1000))
        mine.shutdown(socket.SHUT_WR)
        tracemalloc.start()
        try:
            with pytest.raises(EOFError):
                wire.receive(theirs)
            assert tracemalloc.get_traced_memory()[1] < 4 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("sizes", [[], [0], [5, 0, 1 << 20, (1 << 20) + 1], [9_000_000, 3]])
def test_messages_of_all_sizes_arrive(sizes):
    parts = [os.urandom(n) for n in sizes]
    mine, theirs = socket.socketpair()
    with mine, theirs:
        sender = threading.Thread(target=wire.send, args=(mine, parts))
        sender.start()
        assert wire.receive(theirs) == parts
        sender.join()


def test_who_does_not_know_the_secret_changes_nothing(server):
    with asking(server) as client:
        client.set(("key", b"value"))
    for guess in (b"", b"another"):
        with pytest.raises(DistNetworkError, match=f"another secret.*{SECRET.name}"):
            Client("127.0.0.1", server.port, 5.0, guess)
    with reached(server.port) as stranger:  # as clients did before there was a secret
        stranger.sendall(b"torchlike store 1\n" + struct.pack("!QQQQ", 3, 3, 3, 4) + b"setkeyevil")
        stranger.settimeout(5)
        with gone():
            while stranger.recv(4096):
                pass
    with asking(server) as client:
        assert client.get(1.0, "key") == [b"value"]


class gone:
    """The connection is closed, in one way or another."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is None or issubclass(kind, ConnectionResetError)


def test_what_one_has_shown_is_of_no_use_to_another(server):
    """A proof that was overheard answers another number."""
    with reached(server.port) as honest:
        secret.present(honest, KNOWN)
    sent = []

    class Overheard:
        def __init__(self, connection):
            self._connection = connection

        def sendall(self, data):
            sent.append(data)
            self._connection.sendall(data)

        def __getattr__(self, name):
            return getattr(self._connection, name)

    with reached(server.port) as connection:
        secret.present(Overheard(connection), KNOWN)
    with reached(server.port) as stranger:
        wire.exactly(stranger, 18 + 32)
        stranger.sendall(b"".join(sent))
        assert wire.exactly(stranger, 32) == bytes(32)


def test_a_server_that_does_not_know_the_secret_is_told_nothing():
    false = TableServer("127.0.0.1", 0, secret=b"guessed")
    try:
        with pytest.raises(DistNetworkError, match="another secret"):
            Client("127.0.0.1", false.port, 5.0, KNOWN)
    finally:
        false.close()


def test_who_says_nothing_holds_no_place(server, monkeypatch):
    monkeypatch.setattr(listener, "_PATIENCE", 0.2)
    silent = [reached(server.port) for _ in range(listener._ASKED_AT_ONCE + 20)]
    try:
        began = time.monotonic()
        with asking(server) as client:
            assert client.keys() == []
        assert time.monotonic() - began < 10
    finally:
        for connection in silent:
            connection.close()


def test_connections_are_limited_and_places_become_free(monkeypatch):
    monkeypatch.setattr(listener, "most_connections", lambda: 3)
    server = TableServer("127.0.0.1", 0, secret=KNOWN)
    try:
        held = [connected("127.0.0.1", server.port, 5.0, KNOWN) for _ in range(3)]
        with pytest.raises(DistNetworkError, match="timed out"):
            Client("127.0.0.1", server.port, 0.3, KNOWN)
        held.pop().close()
        with asking(server) as client:
            assert client.keys() == []
        for connection in held:
            connection.close()
    finally:
        server.close()


#: Its files are used up by connections: the server goes on once they are free.
WITHOUT_FILES = """
import resource, socket, time
from torchlike._runtime.rendezvous import listener
from torchlike._runtime.rendezvous.server import Client, TableServer
listener.most_connections = lambda: 1000
server = TableServer("127.0.0.1", 0)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(socket.create_connection(("127.0.0.1", server.port), 5))
except OSError:
    time.sleep(0.2)
for connection in held:
    connection.close()
assert Client("127.0.0.1", server.port, 10.0).keys() == []
"""


def test_a_server_without_files_left_goes_on():
    code = (
        "import sys, types, importlib.util\n"
        "bare = types.ModuleType('torchlike'); sys.modules['torchlike'] = bare\n"
        f"bare.__path__ = [{str(Path(listener.__file__).parents[2])!r}]\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code + WITHOUT_FILES], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")


NONSENSE = [
    [],
    [b"unknown"],
    [b"\xff"],
    [b"add", b"k", b"x"],
    [b"get"],
    [b"set", b"k"],
    [b"get", b"inf"],
    [b"pop", b"q", b"-1"],
    [b"add", b"k", b"9" * 5000],
]


def test_nonsense_is_answered_and_the_server_goes_on(server):
    with reached(server.port) as connection:
        secret.present(connection, KNOWN)
        for parts in NONSENSE:
            wire.send(connection, parts)
            assert wire.receive(connection)[0] in (b"error", b"ok", b"empty")
    with asking(server) as client:
        assert client.keys() == []


# -- mailboxes -------------------------------------------------------------------------------------


def test_a_mailbox_takes_from_those_who_read_the_store():
    store = HashStore()
    first, second = (Mailbox(rank, store, "127.0.0.1") for rank in range(2))
    try:
        port = first._listener.port
        with reached(port) as stranger:
            wire.exactly(stranger, 18 + 32)
            stranger.sendall(b"torchlike store 2\n" + bytes(64))
            assert wire.exactly(stranger, 32) == bytes(32)
        with pytest.raises(DistNetworkError):
            connected("127.0.0.1", port, 5.0, b"")
        number = first.expect(1, 0, 0)
        second.post(0, 0, 0, np.arange(3), "int64")
        dtype, shape, data = first.collect(1, 0, 0, number, 5.0)
        assert (dtype, shape, np.frombuffer(data, np.int64).tolist()) == ("int64", (3,), [0, 1, 2])
        assert second.ask(0) == {}
    finally:
        first.close()
        second.close()


# -- where they listen -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "where"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("127.0.0.5", "127.0.0.5"),
        ("0.0.0.0", "::"),
        ("::", "::"),
        ("192.0.2.1", "::"),
        ("no.such.host.invalid", "::"),
    ],
)
def test_a_server_listens_at_the_hosts_address(host, where):
    with addresses.listening(host, 0) as found:
        address = found.getsockname()[0]
    assert address == where or (where == "::" and address == "0.0.0.0")


def test_a_name_that_this_machine_alone_takes_for_itself_says_nothing(monkeypatch):
    """Debian's /etc/hosts: the others know another address of the name."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.1.1", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with addresses.listening("node0", 0) as made:
        assert made.getsockname()[0] in ("::", "0.0.0.0")


def test_a_port_in_use_is_refused():
    found = pytest.raises(DistNetworkError, match="failed to listen")
    with addresses.listening("127.0.0.1", 0) as taken, found:
        addresses.listening("127.0.0.1", taken.getsockname()[1])


#: Two ranks say where the sockets of their processes and of the launcher listen.
LISTENS = """
import os, sys
import torch, torch.distributed as dist
from torchlike._runtime.rendezvous.errors import DistNetworkError
from torchlike._runtime.rendezvous.server import Client

dist.init_process_group("gloo")
x = torch.ones(2)
dist.all_reduce(x)
found = [None, None]
dist.all_gather_object(found, {"rank": dist.get_rank()})
assert [f["rank"] for f in found] == [0, 1], found
y = [{"a": 1}] if dist.get_rank() == 0 else [None]
(dist.send_object_list if dist.get_rank() == 0 else dist.recv_object_list)(y, 1 - dist.get_rank())
assert y == [{"a": 1}]
try:
    Client(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), 5.0, b"")
    print("STRANGER WAS ADMITTED", flush=True)
except DistNetworkError:
    pass
if "--silent" not in sys.argv:
    inodes = set()
    for pid in (os.getpid(), os.getppid()):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                pass
    for name in ("tcp", "tcp6"):
        for line in open(f"/proc/net/{name}").read().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in inodes:
                print("LISTENS", words[1].partition(":")[0], flush=True)
dist.barrier()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_run_on_one_machine_listens_there_alone_and_admits_no_stranger(tmp_path):
    script = tmp_path / "listens.py"
    script.write_text(LISTENS)
    ended = launch("--nproc-per-node", 2, script)
    assert ended.returncode == 0, ended.stderr
    assert "STRANGER" not in ended.stdout
    found = re.findall(r"LISTENS (\w+)", ended.stdout)
    assert len(found) >= 4  # the launcher's store and service, and each rank's mailbox
    everywhere = [address for address in found if set(address) == {"0"}]
    assert everywhere == []


# -- who draws the secret --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "machines", "found"),
    [
        ("", 2, ""),
        ("given", 1, "given"),
        ("given", 2, "given"),
        ("spawn:2:x", 2, ""),
    ],
)
def test_the_secret_of_a_run(said, machines, found, monkeypatch):
    monkeypatch.setenv(SECRET.name, said)
    assert secret.for_run(machines) == found


def test_each_run_on_one_machine_draws_its_own(monkeypatch):
    monkeypatch.delenv(SECRET.name, raising=False)
    one, other = secret.for_run(1), secret.for_run(1)
    assert len(one) == 64
    assert one != other


def test_the_secret_of_spawned_processes_counts_in_a_world_of_them_alone(monkeypatch):
    monkeypatch.setenv(SECRET.name, "")
    made = secret.for_spawned(2)
    monkeypatch.setenv(SECRET.name, made)
    assert len(secret.of_environment(2)) == 64
    assert secret.of_environment(4) == b""  # two machines that spawn two each
    assert secret.of_environment() == b""
    assert secret.for_spawned(3) != made
    monkeypatch.setenv(SECRET.name, "given")
    assert secret.for_spawned(2) == "given"
    assert secret.of_environment(4) == b"given"


def test_a_store_asks_for_the_secret_of_the_environment(monkeypatch):
    monkeypatch.setenv(SECRET.name, "given")
    store = TCPStore("127.0.0.1", 0, 1, True)
    store.set("key", "value")
    with contextlib.closing(TCPStore("127.0.0.1", store.port)) as other:
        assert other.get("key") == b"value"
    monkeypatch.delenv(SECRET.name)
    with pytest.raises(DistNetworkError, match="another secret"):
        TCPStore("127.0.0.1", store.port, timeout=timedelta(seconds=5))
    store.close()


#: Spawned processes meet, by their own secret, and a stranger among them does not.
SPAWNED = """
import os, sys
import torchlike as torch
import torchlike.distributed as dist
import torchlike.multiprocessing as mp
from torchlike._runtime.rendezvous.errors import DistNetworkError
from torchlike._runtime.rendezvous.server import Client

def work(rank, port):
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    found = [None, None]
    dist.all_gather_object(found, rank)
    assert found == [0, 1]
    dist.all_gather_object(found, torch.tensor(rank), weights_only=True)
    assert [x.item() for x in found] == [0, 1]
    try:
        Client("127.0.0.1", port, 5.0, b"")
        print("STRANGER WAS ADMITTED", flush=True)
    except DistNetworkError:
        print("refused", flush=True)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, (int(sys.argv[1]),), nprocs=2)
    assert "TORCHLIKE_SECRET" not in os.environ
"""


@pytest.mark.exhaustive
def test_spawned_processes_have_a_secret_of_their_own(tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(SPAWNED)
    ended = subprocess.run(
        [sys.executable, str(script), str(free_port())],
        capture_output=True,
        text=True,
        timeout=120,
        env={k: v for k, v in os.environ.items() if k != SECRET.name},
    )
    assert ended.returncode == 0, ended.stderr
    assert sorted(ended.stdout.split("\n")) == ["", "refused", "refused"]


def test_launchers_on_several_machines_without_one_say_so(capsys, monkeypatch):
    from torchlike._runtime.launching.agent import Agent

    monkeypatch.delenv(SECRET.name, raising=False)
    options = parse(
        [
            "--nnodes",
            "2",
            "--node-rank",
            "0",
            "--master-port",
            str(free_port()),
            "--rdzv-conf",
            "timeout=0.1",
            "s.py",
        ]
    )
    with pytest.raises(DistStoreError, match="launcher 1 did not come"):
        Agent(options).run()
    assert f"the same {SECRET.name}" in capsys.readouterr().err


# -- stores in files -------------------------------------------------------------------------------


def test_a_file_store_is_its_users_alone(tmp_path):
    path = tmp_path / "store"
    FileStore(str(path)).set("key", "value")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="gives a file away")
def test_a_file_that_another_user_has_laid_there_is_refused(tmp_path):
    path = tmp_path / "store"
    FileStore(str(path)).set("key", "planted")
    os.chown(path, 12345, -1)
    with pytest.raises(DistStoreError, match="belongs to user 12345"):
        FileStore(str(path))
