"""The persistent compilation cache: moved, turned off, shared by processes, pruned."""

import os
import subprocess
import sys
import threading
import time

import pytest

from torchlike._runtime import compilation_cache, trust


def run(code, folder):
    env = {**os.environ, "TORCHLIKE_CACHE_DIR": str(folder), "TORCHLIKE_FIRST_CALLS": "compiled"}
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env=env)


@pytest.mark.exhaustive
def test_it_can_be_moved_and_turned_off(tmp_path):
    code = "import torchlike as t, jax; (t.ones(3) + 1).tolist()"
    run(code, tmp_path / "moved")
    assert list((tmp_path / "moved").glob("*-cache"))
    run(code + "; assert not jax.config.jax_compilation_cache_dir", "")


def test_compiled_programs_are_kept_by_the_cache_that_writes_whole_entries(tmp_path):
    run(
        "import torchlike as t; (t.ones(3) + 1).tolist();"
        "from jax._src import compilation_cache as jax_cache;"
        "from torchlike._runtime.compilation_cache import WholeEntries;"
        "assert type(jax_cache._cache) is WholeEntries",
        tmp_path,
    )


def test_a_look_compiles_nothing_and_tells_whether_there_is_an_entry(tmp_path):
    run(
        "import torchlike, jax; from torchlike._runtime.compilation_cache import is_kept\n"
        "lowered = lambda: jax.jit(lambda x: x * 3.25).lower(1.0)\n"
        "before = lowered(); assert not is_kept(before.compile)\n"
        "assert before.compile()(2.0) == 6.5 and is_kept(lowered().compile)\n"
        "assert lowered().compile()(4.0) == 13",
        tmp_path,
    )


def test_a_reader_never_sees_part_of_an_entry(tmp_path):
    """A writer is slow on purpose: entries of 32 MB, looked at all the while."""
    cache = compilation_cache.WholeEntries(str(tmp_path), max_size=-1)
    value, seen, done = os.urandom(1 << 20) * 32, set(), threading.Event()

    def read():
        while not done.is_set():
            for n in range(5):
                found = cache.get(str(n))
                seen.add(-1 if found is None else len(found))

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(5):
        cache.put(str(n), value)
    time.sleep(0.05)
    done.set()
    reader.join()
    assert seen <= {-1, len(value)}
    names = [p.name.partition("-")[0] for p in tmp_path.glob("*-cache")]
    assert sorted(names) == [str(n) for n in range(5)]
    assert len(list(tmp_path.iterdir())) == 5


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    cache = compilation_cache.WholeEntries(str(tmp_path), max_size=-1)

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        cache.put("key", b"value")
    assert not list(tmp_path.iterdir())


def test_an_entry_pruned_between_look_and_read_is_a_miss(tmp_path, monkeypatch):
    cache = compilation_cache.WholeEntries(str(tmp_path), max_size=-1)
    monkeypatch.setattr(type(cache.path), "exists", lambda path: True)
    assert cache.get("gone") is None


def test_a_program_compiled_for_other_threads_is_compiled_anew(tmp_path, monkeypatch):
    """XLA splits a loop for the threads it has at that moment; JAX's key does not tell."""
    monkeypatch.setenv("NPROC", "1")
    one = compilation_cache.WholeEntries(str(tmp_path), max_size=-1)
    monkeypatch.setenv("NPROC", "2")
    two = compilation_cache.WholeEntries(str(tmp_path), max_size=-1)
    one.put("key", b"for one")
    assert two.get("key") is None
    two.put("key", b"for two")
    assert (one.get("key"), two.get("key")) == (b"for one", b"for two")


def test_the_oldest_entries_go_first(tmp_path):
    for n in range(4):
        entry = tmp_path / f"{n}-cache"
        entry.write_bytes(bytes(100))
        os.utime(entry, (n, n))
    compilation_cache.prune(tmp_path, max_bytes=250)
    assert sorted(p.name for p in tmp_path.glob("*-cache")) == ["2-cache", "3-cache"]
    compilation_cache.prune(tmp_path, max_bytes=0)  # done a moment ago: not again today
    assert len(list(tmp_path.glob("*-cache"))) == 2


@pytest.mark.exhaustive
def test_a_user_without_a_home_has_no_cache():
    """As in a container that runs as a number: neither HOME nor an entry among the users."""
    code = (
        "import os; os.path.expanduser = lambda path: path\n"
        "import torchlike as t, jax; print((t.ones(3) + 1).tolist(), "
        "jax.config.jax_compilation_cache_dir)"
    )
    missing = ("HOME", "XDG_CACHE_HOME", "TORCHLIKE_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")
    env = {name: value for name, value in os.environ.items() if name not in missing}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert (done.stdout, done.stderr) == ("[2.0, 2.0, 2.0] None\n", "")


# -- entries are code ------------------------------------------------------------------------------

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners of POSIX")
as_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="gives files to another user"
)
STRANGER = 12345


def enabled_in(folder, code="", **environment):
    """What a program says that keeps its compiled programs there."""
    body = "import torchlike as t, jax; print((t.ones(3) + 1).tolist(), jax.config.{})".format(
        "jax_compilation_cache_dir"
    )
    env = {**os.environ, "TORCHLIKE_CACHE_DIR": str(folder), "TORCHLIKE_FIRST_CALLS": "compiled"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code + body],
        capture_output=True,
        text=True,
        env={**env, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.strip()


@pytest.mark.exhaustive
def test_the_folder_is_made_for_this_user_alone_and_entries_too(tmp_path):
    folder = tmp_path / "new" / "cache"
    said = enabled_in(folder, "import os; os.umask(0);")
    assert said == (f"[2.0, 2.0, 2.0] {folder}", "")
    assert folder.stat().st_mode & 0o777 == 0o700
    entries = list(folder.glob("*-cache"))
    assert entries
    assert {entry.stat().st_mode & 0o777 for entry in entries} == {0o600}


@pytest.mark.exhaustive
@posix
def test_a_folder_that_others_may_write_to_is_refused_in_a_line(tmp_path):
    tmp_path.chmod(0o777)
    output, told = enabled_in(tmp_path)
    assert output == "[2.0, 2.0, 2.0] None"
    assert told.count("\n") == 0
    assert f"others may write to {tmp_path} (mode 0777). `chmod -R go-w {tmp_path}`" in told
    assert not list(tmp_path.iterdir())


@posix
@pytest.mark.parametrize("mode", [0o775, 0o1777, 0o702])
def test_modes_that_let_others_write(mode, tmp_path):
    tmp_path.chmod(mode)
    assert "others may write" in trust.reason_against(tmp_path.stat(), "it")


@posix
@pytest.mark.parametrize("mode", [0o700, 0o755, 0o555])
def test_modes_that_do_not(mode, tmp_path):
    tmp_path.chmod(mode)
    assert trust.reason_against(tmp_path.stat(), "it") is None
    tmp_path.chmod(0o700)


@posix
@pytest.mark.parametrize(
    ("mode", "after"), [(0o755, 0o700), (0o750, 0o700), (0o700, 0o700), (0o777, 0o777)]
)
def test_what_an_earlier_version_made_is_left_to_its_user_alone(mode, after, tmp_path):
    """Others may read it, no more. Where they may write it is refused, and stays as it is."""
    tmp_path.chmod(mode)
    trust.made_tighter(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == after


@posix
def test_what_a_link_leads_to_is_not_tightened(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o755)
    (tmp_path / "link").symlink_to("shared")
    trust.made_tighter(tmp_path / "link")
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o755


@as_root
def test_a_folder_of_another_user_is_not_touched(tmp_path):
    tmp_path.chmod(0o755)
    os.chown(tmp_path, STRANGER, -1)
    trust.made_tighter(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o755


@pytest.mark.exhaustive
@posix
def test_only_the_folder_that_nobody_named_is_tightened(tmp_path):
    cache, named = tmp_path / "torchlike", tmp_path / "named"
    for folder in (cache, named):
        folder.mkdir()
        folder.chmod(0o755)
    by_default = "import os; os.environ.pop('TORCHLIKE_CACHE_DIR');"
    output, told = enabled_in(named, by_default, XDG_CACHE_HOME=str(tmp_path))
    assert (output, told) == (f"[2.0, 2.0, 2.0] {cache}", "")
    output, told = enabled_in(named)
    assert (output, told) == (f"[2.0, 2.0, 2.0] {named}", "")
    assert [f.stat().st_mode & 0o777 for f in (cache, named)] == [0o700, 0o755]


@as_root
def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch, caplog):
    os.chown(tmp_path, STRANGER, -1)
    monkeypatch.setenv("TORCHLIKE_CACHE_DIR", str(tmp_path))
    assert compilation_cache.enable() is None
    assert f"{tmp_path} belongs to user {STRANGER}, and this is user 0" in caplog.text


@posix
def test_an_administrators_folder_is_read_by_all(tmp_path, monkeypatch):
    """A cache that was made with a container's image."""
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    made = os.stat_result((0o40755, 0, 0, 1, 0, 0, 0, 0, 0, 0))
    assert trust.reason_against(made, "it") is None
    assert "belongs to user 7" in trust.reason_against(
        os.stat_result((0o40755, 0, 0, 1, 7, 0, 0, 0, 0, 0)), "it"
    )


def writable(entry):
    entry.chmod(0o666)


def given_away(entry):
    os.chown(entry, STRANGER, -1)


@posix
@pytest.mark.parametrize("plant", [writable, pytest.param(given_away, marks=as_root)])
def test_an_entry_that_another_may_have_written_is_compiled_anew(plant, tmp_path, caplog):
    cache = compilation_cache.WholeEntries(str(tmp_path), max_size=-1)
    cache.put("key", b"ours")
    (entry,) = tmp_path.glob("*-cache")
    entry.write_bytes(b"planted")
    plant(entry)
    assert cache.get("key") is None
    assert "a compiled program is not read but compiled again, for it is code: " in caplog.text
    assert str(entry) in caplog.text
    cache.put("key", b"compiled again")  # in its place
    assert cache.get("key") == b"compiled again"
    assert entry.stat().st_uid == os.geteuid()
