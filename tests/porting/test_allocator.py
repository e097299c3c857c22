import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import jax
import pytest
from jax import monitoring

from torchlike._runtime import recycling
from torchlike.porting import allocator

SOURCE = Path(allocator.__file__)

# Frees a block (of MiB) and says how much of it the process still holds. The file runs by itself:
# the settings are those of a whole process, which the tests share.
MEASURE = f"""
import ctypes, gc, re, runpy, sys, threading
tune = runpy.run_path({str(SOURCE)!r})["tune_allocator"]
frozen = gc.get_freeze_count()  # by the import that the file does
taken = tune() if sys.argv[1] == "tune" else None
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = (ctypes.c_size_t,)
libc.free.argtypes = (ctypes.c_void_p,)
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) // 1024
def use_and_free(size):
    libc.malloc(10 << 20)  # stays in a thread's first heap, of 64 MiB: the block gets the second
    block = libc.malloc(size)
    ctypes.memset(block, 1, size)
    libc.free(block)
    print(taken, resident() - before, gc.get_freeze_count() > frozen)
before = resident()
size = int(sys.argv[2]) << 20
if sys.argv[3] == "thread":
    thread = threading.Thread(target=use_and_free, args=(size,))
    thread.start()
    thread.join()
else:
    use_and_free(size)
"""

glibc_only = pytest.mark.skipif(
    not allocator._is_glibc() or not Path("/proc/self/status").exists(),
    reason="the settings are glibc's, the measurement Linux's",
)


def measure(how, mebibytes=16, where="main", **environment):
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, how, str(mebibytes), where],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    taken, kept, frozen = result.stdout.split()
    return taken, int(kept), frozen == "True"


@pytest.mark.exhaustive
@glibc_only
def test_freed_memory_stays_in_the_process():
    taken, kept, frozen = measure("tune")
    assert taken == "True"
    assert kept >= 14
    assert frozen


@pytest.mark.exhaustive
@glibc_only
def test_a_heap_that_is_empty_again_stays_too():
    assert measure("tune", 60, "thread")[1] >= 58


@pytest.mark.exhaustive
@glibc_only
def test_without_the_settings_it_goes_back():
    assert measure("leave")[1] <= 2


@pytest.mark.exhaustive
@glibc_only
def test_environment_can_refuse():
    taken, kept, frozen = measure("tune", TORCHLIKE_ALLOCATOR="system")
    assert taken == "False"
    assert kept <= 2
    assert not frozen


def test_other_c_libraries_are_left_alone(monkeypatch):
    def no_such_name(_):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(allocator.os, "confstr", no_such_name)
    monkeypatch.setattr(recycling, "_enabled", False)
    monkeypatch.setattr(gc, "freeze", lambda: None)  # of the test process
    assert allocator.tune_allocator() is False
    assert recycling._enabled  # which needs no allocator's help


def test_nothing_is_put_aside_where_the_environment_says_so(monkeypatch):
    monkeypatch.setenv("TORCHLIKE_ALLOCATOR", "system")
    monkeypatch.setattr(recycling, "_enabled", False)
    assert allocator.tune_allocator() is False
    assert not recycling._enabled


def test_blocks_are_mapped_from_a_compilation_until_it_is_quiet(monkeypatch):
    monkeypatch.setattr(allocator, "_QUIET", 0.2)
    calls, quiet = [], threading.Event()
    compiling = allocator._Compiling(
        lambda: calls.append("map"), lambda: (calls.append("keep"), quiet.set())
    )
    compiling("/jax/core/compile/jaxpr_trace_duration", 0.1)
    assert calls == []
    for repeat in (1, 2):
        compiling(allocator._COMPILED, 0.1, fun_name="f")
        compiling(allocator._COMPILED, 0.1, fun_name="g")
        assert quiet.wait(10)
        quiet.clear()
        assert calls == ["map", "keep"] * repeat


def test_jax_tells_of_compilations():
    told = []

    def listener(event, duration_secs, **_):
        told.append(event)

    monitoring.register_event_duration_secs_listener(listener)
    try:
        jax.jit(lambda x: x * 3 + 17.25)(jax.numpy.ones(3))
    finally:
        monitoring.unregister_event_duration_listener(listener)
    assert allocator._COMPILED in told
