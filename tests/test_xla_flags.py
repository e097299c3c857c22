"""The flags that XLA starts with: the user's, then ours."""

import os
import subprocess
import sys

import pytest

from torchlike import xla_flags

TILES = "--xla_backend_extra_options=xla_cpu_disable_tiled_emitter"
WIDE = "--xla_cpu_prefer_vector_width=512"


@pytest.fixture
def cpuinfo(tmp_path):
    def write(text):
        file = tmp_path / "cpuinfo"
        file.write_text(text)
        return file

    return write


def test_wide_vectors_where_an_amd_processor_has_them(cpuinfo):
    amd = cpuinfo("vendor_id\t: AuthenticAMD\nflags\t: fpu avx2 avx512f\n")
    assert xla_flags.extended("", amd) == f"{TILES} {WIDE}"
    for text in (
        "vendor_id\t: GenuineIntel\nflags\t: fpu avx2 avx512f\n",
        "vendor_id\t: AuthenticAMD\nflags\t: fpu avx2\n",
        "",
    ):
        assert xla_flags.extended("", cpuinfo(text)) == TILES
    assert xla_flags.extended("", cpuinfo("").with_name("missing")) == TILES


def test_what_the_environment_says_stands(cpuinfo):
    amd = cpuinfo("AuthenticAMD avx512f")
    mine = "--xla_cpu_prefer_vector_width=128 --xla_dump_to=here"
    assert xla_flags.extended(mine, amd) == f"{mine} {TILES}"
    mine = "--xla_backend_extra_options=other"
    assert xla_flags.extended(mine, amd) == f"{mine} {WIDE}"


@pytest.mark.parametrize("switch", [None, "system"])
def test_xla_starts_with_them(switch, tmp_path):
    """XLA aborts the process at a flag that it does not know."""
    env = {**os.environ, "XLA_FLAGS": "--xla_cpu_enable_fast_math=false"}
    env.pop("TORCHLIKE_XLA_FLAGS", None)
    if switch:
        env["TORCHLIKE_XLA_FLAGS"] = switch
    env["TORCHLIKE_CACHE_DIR"] = str(tmp_path)
    code = (
        "import os, torchlike as t;"
        "assert (t.arange(5.0) * t.arange(5.0)).tolist() == [0, 1, 4, 9, 16];"
        "print(os.environ['XLA_FLAGS'])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = env["XLA_FLAGS"] if switch else xla_flags.extended(env["XLA_FLAGS"])
    assert done.stdout.strip() == expected


def test_importing_twice_adds_them_once():
    assert xla_flags.extended(os.environ["XLA_FLAGS"]) == os.environ["XLA_FLAGS"]
