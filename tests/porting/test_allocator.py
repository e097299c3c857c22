import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchlike.porting import allocator

SOURCE = Path(allocator.__file__)

# Frees a block of 16 MiB and says how much of it the process still holds. The file runs by itself:
# the settings are those of a whole process, which the tests share.
MEASURE = f"""
import ctypes, re, runpy, sys
tune = runpy.run_path({str(SOURCE)!r})["tune_allocator"]
taken = tune() if sys.argv[1] == "tune" else None
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = (ctypes.c_size_t,)
libc.free.argtypes = (ctypes.c_void_p,)
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) // 1024
before = resident()
size = 16 << 20
block = libc.malloc(size)
ctypes.memset(block, 1, size)
libc.free(block)
print(taken, resident() - before)
"""

glibc_only = pytest.mark.skipif(
    not allocator._is_glibc() or not Path("/proc/self/status").exists(),
    reason="the settings are glibc's, the measurement Linux's",
)


def measure(how, **environment):
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, how],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    taken, kept = result.stdout.split()
    return taken, int(kept)


@glibc_only
def test_freed_memory_stays_in_the_process():
    taken, kept = measure("tune")
    assert taken == "True"
    assert kept >= 14


@glibc_only
def test_without_the_settings_it_goes_back():
    assert measure("leave")[1] <= 2


@glibc_only
def test_environment_can_refuse():
    taken, kept = measure("tune", TORCHLIKE_ALLOCATOR="system")
    assert taken == "False"
    assert kept <= 2


def test_other_c_libraries_are_left_alone(monkeypatch):
    def no_such_name(_):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(allocator.os, "confstr", no_such_name)
    assert allocator.tune_allocator() is False
