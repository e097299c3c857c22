"""The flags that XLA starts with: the user's, then ours."""

import os
import subprocess
import sys

import pytest

from torchlike import xla_flags

OURS = "--xla_backend_extra_options=xla_cpu_disable_tiled_emitter"


def test_ours_stands_behind_the_users():
    assert xla_flags.extended("") == OURS
    assert xla_flags.extended("--xla_dump_to=here") == f"--xla_dump_to=here {OURS}"
    assert xla_flags.extended("--xla_backend_extra_options=other") == (
        "--xla_backend_extra_options=other"
    )


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
