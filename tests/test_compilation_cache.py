"""The persistent compilation cache: moved, turned off, shared by processes, pruned."""

import os
import subprocess
import sys
import threading
import time

import pytest

from torchlike._runtime import compilation_cache


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
