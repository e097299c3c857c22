"""The flags that XLA starts with: the user's, then ours."""

import os
import subprocess
import sys

import jaxlib.version
import pytest

from torchlike._runtime import platforms, xla_flags

TILES = "--xla_backend_extra_options=xla_cpu_disable_tiled_emitter"
UNMERGED = f"{TILES},--combiner-store-merging=false"
EIGEN = "--xla_cpu_experimental_ynn_fusion_type=-individual_convolution"


def on_two_threads(monkeypatch, version, plugin=None):
    monkeypatch.setenv("NPROC", "2")
    monkeypatch.setattr(xla_flags.platforms, "only_cpu", lambda: plugin is None)
    monkeypatch.setattr(xla_flags.jaxlib.version, "__version__", version)


@pytest.mark.parametrize(("version", "extra"), [("0.10.2", UNMERGED), ("0.12.0.1", TILES)])
def test_ours_stand_behind_the_users(monkeypatch, version, extra):
    on_two_threads(monkeypatch, version)
    assert xla_flags.extended("") == f"{extra} {EIGEN}"
    assert xla_flags.extended("--xla_dump_to=here") == f"--xla_dump_to=here {extra} {EIGEN}"
    assert xla_flags.extended("--xla_backend_extra_options=other") == (
        f"--xla_backend_extra_options=other {EIGEN}"
    )


def test_a_file_of_flags_is_left_as_it_is():
    assert xla_flags.extended("/etc/xla_flags") == "/etc/xla_flags"


@pytest.mark.parametrize(
    ("version", "plugin", "extra"),
    [("0.11.0", None, UNMERGED), ("0.12.1", None, TILES), ("0.10.2", "libtpu", TILES)],
)
def test_eigen_convolves_only_where_that_was_measured(monkeypatch, version, plugin, extra):
    on_two_threads(monkeypatch, version, plugin)
    assert xla_flags.extended("") == extra


def test_one_thread_is_left_to_ynnpack(monkeypatch):
    on_two_threads(monkeypatch, "0.10.2")
    monkeypatch.setenv("NPROC", "1")
    assert xla_flags.extended("") == UNMERGED


@pytest.mark.exhaustive
def test_joined_parts_at_a_computed_place_are_right(tmp_path):
    """Sizes with which LLVM's merging of stores made wrong code where there is AVX-512."""
    code = (
        "import torchlike, jax, jax.numpy as jnp, numpy as np;"
        "x, y = np.sin(np.arange(120.0)).reshape(2, 3, 4, 5);"
        "joined = lambda a, b, xp: xp.concatenate([a, a + a * b], 1);"
        "part = lambda x, i: jax.lax.dynamic_index_in_dim(x, i, keepdims=False);"
        "step = jax.jit(lambda x, y, i: joined(part(x, i), part(y, i), jnp));"
        "assert all(np.allclose(step(x, y, i), joined(x[i], y[i], np)) for i in range(3))"
    )
    env = {**os.environ, "XLA_FLAGS": "", "TORCHLIKE_CACHE_DIR": str(tmp_path)}
    env.pop("TORCHLIKE_XLA_FLAGS", None)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_convolution_is_eigens_on_more_than_one_thread(threads, tmp_path):
    """What `convolves_by_eigen` says is what XLA's compiled text shows."""
    env = {**os.environ, "XLA_FLAGS": "", "NPROC": threads, "TORCHLIKE_CACHE_DIR": str(tmp_path)}
    env.pop("TORCHLIKE_XLA_FLAGS", None)
    code = (
        "import torchlike as t, jax, jax.numpy as jnp;"
        "from torchlike._runtime import platforms, xla_flags;"
        "from torchlike._ops.nn.conv import convolution_gradient as c;"
        "shape = c.ConvolutionGeometry((1, 1), ((1, 1), (1, 1)), (1, 1));"
        "x, w = jnp.ones((4, 8, 8, 32)), jnp.ones((3, 3, 32, 64));"
        "f = jax.jit(lambda x, w: c.channels_last(x, w, shape));"
        "print(xla_flags.convolves_by_eigen(), 'ynn' in f.lower(x, w).compile().as_text())"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    by_eigen, by_ynnpack = done.stdout.split()
    plugins = [not platforms.only_cpu()]
    measured = jaxlib.version.__version__.startswith(xla_flags.MEASURED)
    assert by_eigen == str(int(threads) > 1 and measured and not any(plugins))
    assert by_ynnpack == str(by_eigen == "False")


@pytest.mark.sampled(every=2)
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


@pytest.mark.parametrize(
    ("said", "threads"),
    [
        ({}, None),
        ({"XLA_FLAGS": "--xla_force_host_platform_device_count=1"}, None),
        ({"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}, "32"),
        ({"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PJRT_NPROC": "3"}, "8"),
        ({"JAX_NUM_CPU_DEVICES": "4"}, "16"),
        ({"JAX_NUM_CPU_DEVICES": "4", "NPROC": "64"}, "64"),
        ({"JAX_NUM_CPU_DEVICES": "4", "TORCHLIKE_XLA_FLAGS": "system"}, None),
    ],
)
def test_several_devices_have_threads_enough(monkeypatch, said, threads):
    for name in ("XLA_FLAGS", "PJRT_NPROC", "NPROC", "JAX_NUM_CPU_DEVICES", "TORCHLIKE_XLA_FLAGS"):
        monkeypatch.setenv(name, "")  # so that what `enable` sets is taken back, too
        monkeypatch.delenv(name)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(xla_flags, "FOUND", said.get("XLA_FLAGS", ""))
    xla_flags.enable()
    assert os.environ.get("PJRT_NPROC") == threads
