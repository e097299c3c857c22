"""Files that appear whole, of whatever writer: through links, into pipes, on full disks."""

import io
import os
import pty
import resource
import subprocess
import sys
import threading
import tty

import pytest

import torchlike as torch
from torchlike import nn, onnx
from torchlike._runtime import whole_files
from torchlike.distributed import checkpoint as dcp
from torchlike.export import save_stablehlo
from torchlike.serialization import load_safetensors, save_safetensors

N = 50_000
VALUES = {n: torch.full((N,), float(n)) for n in (0, 1)}


class Plus(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("value", VALUES[n].clone())

    def forward(self, x):
        return self.value + x


class _Proto:
    """What jax2onnx gives, as far as a file is written of it."""

    def __init__(self, n):
        self.n = n

    def SerializeToString(self):
        return bytes([self.n]) * 4 * N


@pytest.fixture(scope="module")
def made():
    """Programs, traced once."""
    example = (torch.zeros(N),)
    return {
        n: (torch.jit.trace(Plus(n), example), torch.export.export(Plus(n), example))
        for n in VALUES
    }


def _number(t):
    assert t.min().item() == t.max().item()
    return int(t.min().item())


#: write(path, number, programs) and read(path) of each kind of file.
WRITERS = {
    "save": (lambda p, n, made: torch.save(VALUES[n], p), lambda p: _number(torch.load(p))),
    "legacy": (
        lambda p, n, made: torch.save(VALUES[n], p, _use_new_zipfile_serialization=False),
        lambda p: _number(torch.load(p)),
    ),
    "safetensors": (
        lambda p, n, made: save_safetensors({"a": VALUES[n]}, p),
        lambda p: _number(load_safetensors(p)["a"]),
    ),
    "jit": (
        lambda p, n, made: torch.jit.save(made[n][0], p),
        lambda p: _number(torch.jit.load(p).state_dict()["value"]),
    ),
    "export": (
        lambda p, n, made: torch.export.save(made[n][1], p),
        lambda p: _number(torch.export.load(p).state_dict["value"]),
    ),
    "onnx": (
        lambda p, n, made: onnx.ONNXProgram(_Proto(n)).save(p),
        lambda p: p.read_bytes()[-1],
    ),
    "text": (
        lambda p, n, made: whole_files.write_text(p, str(n) * N),
        lambda p: int(p.read_text()[-1]),
    ),
}
PLAIN = ("save", "legacy", "text")


@pytest.fixture(params=WRITERS)
def writer(request, made):
    write, read = WRITERS[request.param]
    return lambda path, n: write(path, n, made), read


def test_through_links(tmp_path, writer):
    write, read = writer
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "file", tmp_path / "link"
    (tmp_path / "between").symlink_to("there/file")
    link.symlink_to("between")
    write(link, 0)  # a link to what is not there yet
    assert read(real) == 0
    write(link, 1)
    assert link.is_symlink()
    assert read(real) == read(link) == 1
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["between", "file", "link", "there"]


def test_permissions_stay(tmp_path, monkeypatch, writer):
    write, read = writer
    monkeypatch.setattr(os, "umask", None)  # it is that of all threads
    path = tmp_path / "file"
    write(path, 0)
    with open(tmp_path / "plain", "wb") as file:
        assert os.fstat(file.fileno()).st_mode == path.stat().st_mode
    for mode in (0o600, 0o640, 0o604):
        path.chmod(mode)
        write(path, 1)
        assert path.stat().st_mode & 0o7777 == mode
    assert read(path) == 1


def test_a_full_disk_takes_nothing(tmp_path, writer):
    write, read = writer
    path = tmp_path / "file"
    write(path, 0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write(path, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert read(path) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("hugging_face", [False, True])
def test_a_full_disk_takes_no_checkpoint(tmp_path, hugging_face):
    ways = (
        {"storage_writer": dcp.HuggingFaceStorageWriter(tmp_path)}
        if hugging_face
        else {"checkpoint_id": tmp_path}
    )
    dcp.save({"a": VALUES[0]}, **ways)
    names = {p.name for p in tmp_path.iterdir()}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            dcp.save({"a": VALUES[1]}, **ways)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {p.name for p in tmp_path.iterdir()} == names
    found = {"a": torch.zeros(N)}
    reader = {"storage_reader": dcp.HuggingFaceStorageReader(tmp_path)} if hugging_face else ways
    dcp.load(found, **reader)
    assert found["a"].equal(VALUES[0])


def _received(handle, took):
    """All that comes out of a descriptor until its other end is closed."""
    while True:
        try:
            part = os.read(handle, 1 << 16)
        except OSError:  # how the end of a terminal is told
            return
        if not part:
            return
        took.append(part)


def _received_by_pipe(pipe, took):
    handle = os.open(pipe, os.O_RDONLY)
    _received(handle, took)
    os.close(handle)


@pytest.mark.parametrize("name", ["save", "legacy", "jit", "text"])
def test_into_a_pipe(tmp_path, made, name):
    write, read = WRITERS[name]
    pipe, copy = tmp_path / "pipe", tmp_path / "copy"
    os.mkfifo(pipe)
    took = []
    reader = threading.Thread(target=_received_by_pipe, args=(pipe, took), daemon=True)
    reader.start()
    write(pipe, 1, made)
    reader.join(20)
    assert pipe.is_fifo()
    copy.write_bytes(b"".join(took))
    assert read(copy) == 1
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", PLAIN)
def test_into_a_device(tmp_path, name):
    """A terminal, by a link to it; it stays one."""
    write, read = WRITERS[name]
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    link, copy = tmp_path / "link", tmp_path / "copy"
    link.symlink_to(os.ttyname(theirs))
    took = []
    reader = threading.Thread(target=lambda: _received(ours, took), daemon=True)
    reader.start()
    write(link, 1, None)
    os.close(theirs)
    reader.join(20)
    assert link.is_char_device()
    os.close(ours)
    copy.write_bytes(b"".join(took))
    assert read(copy) == 1


@pytest.mark.parametrize("name", WRITERS)
def test_into_nothing(tmp_path, made, name):
    """As root, too, who may replace devices."""
    node = tmp_path / "null"
    try:
        os.mknod(node, 0o666 | 0o020000, os.makedev(1, 3))
        os.close(os.open(node, os.O_WRONLY))
    except OSError:
        node.unlink(missing_ok=True)
        node.symlink_to("/dev/null")
    WRITERS[name][0](node, 1, made)
    assert node.is_char_device()
    assert len(list(tmp_path.iterdir())) == 1


def test_by_its_descriptor(tmp_path):
    """What a shell has opened for the script is written to, not renamed over."""
    path = tmp_path / "file"
    with open(path, "wb") as file:
        torch.save(VALUES[1], f"/proc/self/fd/{file.fileno()}")
        assert os.path.samestat(os.fstat(file.fileno()), path.stat())
    assert _number(torch.load(path)) == 1


def test_a_folder_that_takes_no_file(tmp_path, monkeypatch):
    """Its files are written in place."""
    path = tmp_path / "file"
    whole_files.write_text(path, "former")
    opening = os.open

    def refuse(name, flags, *rest, **options):
        if flags & os.O_EXCL:
            raise PermissionError(13, "Permission denied", name)
        return opening(name, flags, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    whole_files.write_text(path, "new")
    assert path.read_text() == "new"
    with pytest.raises(PermissionError, match="absent"):
        whole_files.write_text(tmp_path / "absent", "new")


def test_what_may_not_be_written_stays(tmp_path, monkeypatch):
    path = tmp_path / "file"
    whole_files.write_text(path, "former")
    monkeypatch.setattr(os, "access", lambda *args, **options: False)
    with pytest.raises(PermissionError, match="file"):
        whole_files.write_text(path, "new")
    assert path.read_text() == "former"
    assert len(list(tmp_path.iterdir())) == 1


LIVING = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("whole_files", sys.argv[2])  # which needs no JAX
whole_files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(whole_files)
with whole_files.writing(sys.argv[1]) as file:
    file.write(b"slow")
    print(end=" ", flush=True)
    sys.stdin.read()
"""


def test_drafts_of_the_dead_alone_go(tmp_path):
    """Of two processes that write a file, one is killed; the next save lets the other go on."""
    path, longer = tmp_path / "a", tmp_path / "a.b"
    command = [sys.executable, "-c", LIVING, str(path), whole_files.__file__]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as killed, subprocess.Popen(command, **pipes) as living:
        assert killed.stdout.read(1) == living.stdout.read(1) == b" "
        with whole_files.writing(longer) as file:
            assert len(list(tmp_path.iterdir())) == 3
            killed.kill()
            killed.wait()
            whole_files.write_text(path, "of ours")
            drafts = [p.name for p in tmp_path.iterdir() if p != path]
            assert len(drafts) == 2
            assert any(str(living.pid) in name for name in drafts)
            file.write(b"long")
        assert path.read_text() == "of ours"
        living.communicate(b"")
    assert path.read_text() == "slow"
    assert longer.read_text() == "long"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "a.b"]


def test_what_looks_like_a_draft(tmp_path):
    """A link is not followed, a pipe not waited for."""
    (tmp_path / "mine").write_text("mine")
    (tmp_path / ".file.1-1-0.torchlike-draft").symlink_to("mine")
    os.mkfifo(tmp_path / ".file.1-1-1.torchlike-draft")
    whole_files.write_text(tmp_path / "file", "new")
    assert (tmp_path / "mine").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 4


def test_long_names(tmp_path):
    """As long as the file system takes; their drafts are theirs."""
    for end in "ab":
        path = tmp_path / ("x" * 254 + end)
        with whole_files.writing(path) as file:
            file.write(end.encode())
            whole_files.remove_drafts(str(tmp_path), "x" * 254 + ("a" if end == "b" else "b"))
        assert path.read_text() == end


def test_saves_of_one_path_at_a_time(tmp_path):
    """Threads that save to one path: each file is whole, the last one stays."""
    path = tmp_path / "file"
    with whole_files.writing(path) as outer:
        whole_files.write_text(path, "inner")
        assert path.read_text() == "inner"
        outer.write(b"outer")
    assert path.read_text() == "outer"
    threads = [threading.Thread(target=torch.save, args=(VALUES[n], path)) for n in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _number(torch.load(path)) in (0, 1)
    assert len(list(tmp_path.iterdir())) == 1


def test_what_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    torch.save(VALUES[0], path)
    with pytest.raises(Exception, match="pickle"):
        torch.save({"a": VALUES[1], "b": lambda: 0}, path)
    assert _number(torch.load(path)) == 0
    with pytest.raises(IsADirectoryError):
        whole_files.write_text(tmp_path, "")
    with pytest.raises(FileNotFoundError, match="absent/file"):
        whole_files.write_text(tmp_path / "absent" / "file", "")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_files_that_are_open_stay_open():
    file = io.BytesIO()
    with whole_files.opened(file) as same:
        assert same is file
        same.write(b"a")
    file.write(b"b")
    assert file.getvalue() == b"ab"


def test_a_program_for_other_compilers(tmp_path, made):
    save_stablehlo(made[0][0], tmp_path / "file")
    former = (tmp_path / "file").read_bytes()
    with pytest.raises(ValueError, match="platform"):
        save_stablehlo(made[1][0], tmp_path / "file", platform="abacus")
    assert (tmp_path / "file").read_bytes() == former
