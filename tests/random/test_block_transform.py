"""The compiled transform of normals: same bits as numpy, usable while tracing, safe after fork."""

from __future__ import annotations

import math
import subprocess
import sys

import jax
import numpy as np
import pytest

from torchlike.random import block_transform
from torchlike.random.engine import Engine


@pytest.fixture
def compiled():
    """The shared programs, built; a build of its own would compile a second time."""
    for made in (block_transform.compiled_small, block_transform.compiled):
        if made.build() is None:
            pytest.skip("this CPU or XLA contracts differently: numpy serves, as designed")
    return block_transform.compiled


def in_numpy(words, mean, std):
    out = np.empty(words.shape, np.float32)
    block_transform.transform_in_numpy(words, mean, std, out)
    return out


def transformed(words, mean, std):
    out = np.empty(words.shape, np.float32)
    block_transform.transform(words, mean, std, out)
    return out


@pytest.mark.parametrize("blocks", [1, 4, 255, 256, 257, 2047, 2048, 2049, 5000])
@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (-7.25, 0.013), (1e20, 1e-20), (0.0, 1e37)])
def test_compiled_gives_the_bits_of_numpy(compiled, blocks, mean, std):
    words = Engine(blocks).words32(16 * blocks).reshape(-1, 16)
    assert transformed(words, mean, std).tobytes() == in_numpy(words, mean, std).tobytes()


def test_polynomials_are_accurate():
    """Box-Muller in double precision is within 2e-6 relative, 1e-6 absolute."""
    words = Engine(1).words32(160_000).reshape(-1, 16)
    unit = (words & 0xFFFFFF) * 2.0**-24
    radius, angle = np.sqrt(-2 * np.log(1 - unit[:, :8])), 2 * math.pi * unit[:, 8:]
    expected = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    np.testing.assert_allclose(in_numpy(words, 0.0, 1.0), expected, rtol=2e-6, atol=2e-6)


def test_numpy_serves_until_compiling_pays():
    fresh = block_transform._BlockProgram(block_transform.PIECE)
    fresh.build = lambda: "built"
    calls = 0
    while fresh.program(16) is None:
        calls += 1
    assert 100 < calls < 10_000
    assert block_transform._BlockProgram(block_transform.PIECE).program(16) is None


def test_a_program_with_other_bits_is_not_used(monkeypatch):
    """A CPU without FMA, or another XLA, may round elsewhere."""
    half = np.zeros((block_transform.PIECE // 16, 8), np.float32)
    monkeypatch.setattr(block_transform, "_compile", lambda numbers: lambda *given: (half, half))
    fresh = block_transform._BlockProgram(block_transform.PIECE)
    assert fresh.build() is None
    assert not fresh.usable
    assert fresh.program(1 << 30) is None


def test_extreme_parameters_stay_with_numpy(compiled):
    words = Engine(1).words32(32).reshape(-1, 16)
    assert np.isnan(transformed(words, math.nan, 1.0)).all()
    assert np.isinf(transformed(words, 0.0, 1e300)).any()
    assert (np.abs(transformed(words, 0.0, 1e-40)) < 1e-38).all()


def test_usable_while_jax_traces(compiled):
    words = Engine(1).words32(32).reshape(-1, 16)
    expected = in_numpy(words, 0.0, 1.0)

    @jax.jit
    def traced(x):
        return x + transformed(words, 0.0, 1.0)

    np.testing.assert_array_equal(traced(np.zeros((2, 16), np.float32)), expected)


FORKING = """
import os, sys, warnings
import numpy as np
from torchlike.random import block_transform, fills
from torchlike.random.engine import Engine

made = block_transform.compiled, block_transform.compiled_small
built = [one.build() is not None for one in made]
parent = fills.normal(Engine(3), (1000,), np.dtype("float32")).tobytes()
read, write = os.pipe()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pid = os.fork()
if pid == 0:
    assert not any(one.usable for one in made)
    os.write(write, fills.normal(Engine(3), (1000,), np.dtype("float32")).tobytes())
    os._exit(0)
os.waitpid(pid, 0)
assert os.read(read, 4000) == parent
assert built == [one.usable for one in made]
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_a_forked_child_draws_in_numpy():
    """A child of a process that has used JAX would hang in XLA."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
