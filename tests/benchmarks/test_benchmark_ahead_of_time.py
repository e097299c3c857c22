"""benchmarks.ahead_of_time keeps what JAX is about to compile, and compiles it for a GPU."""

import importlib.util
import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import ahead_of_time

_has_compiler = pytest.mark.skipif(bool(ahead_of_time._lacks()), reason="no compiler for GPUs")


def test_programs_are_kept_and_zeros_run_in_their_place():
    def twice(x, y):
        return x * 2, (x + y).astype(jnp.int32)

    x = jnp.arange(3.0, dtype=jnp.float32)
    with ahead_of_time.kept_programs() as found:
        first, second = jax.jit(twice)(x, 1.5)
    (kept,) = found
    assert {"mul", "add"} <= {eqn.primitive.name for eqn in kept.jaxpr.jaxpr.eqns}
    np.testing.assert_array_equal(first, np.zeros(3, np.float32))
    assert second.dtype == np.int32
    first, _ = jax.jit(lambda x, y: twice(x, y))(x, 1.5)  # as ever, after it
    np.testing.assert_array_equal(first, [0, 2, 4])
    assert len(found) == 1


def test_kernels_and_the_host_are_read_from_the_text():
    text = """HloModule m
%fused (p: f32[2]) -> f32[2] {
  ROOT %a = f32[2]{0} add(%p, %p)
}

ENTRY %main (p: f32[2]) -> f32[2] {
  %loop = f32[2]{0} fusion(%p), kind=kLoop, calls=%fused
  %gemm = f32[2]{0} custom-call(%loop), custom_call_target="__cublas$gemm"
  ROOT %copy.1 = f32[2]{0} copy(%gemm)
}
"""
    assert ahead_of_time._kernels(text) == 3
    assert not ahead_of_time._FROM_HOST.findall(text)
    assert ahead_of_time._FROM_HOST.findall('custom_call_target="xla_ffi_python_gpu_callback"')
    assert ahead_of_time._FROM_HOST.findall("f32[2]{0:S(5)} parameter(0)")


def test_without_the_compiler_it_says_what_to_install(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if "jax_plugins" in name else find(name)
    )
    assert "pip install 'torchlike[plan]'" in ahead_of_time._lacks()


@_has_compiler
def test_a_program_is_compiled_for_a_gpu():
    with ahead_of_time.kept_programs() as found:
        jax.jit(lambda x: jnp.tanh(x).sum())(jnp.ones(5))
    made = ahead_of_time.compiled(found[-1], "h100")
    assert made.seconds > 0
    assert ahead_of_time._kernels(made.text) >= 1


@pytest.mark.full
@_has_compiler
def test_steps_take_no_random_number_from_the_host():
    command = [sys.executable, "-m", "benchmarks.ahead_of_time", "--worker", "vae", "deferred"]
    done = subprocess.run([*command, "--tiny"], capture_output=True, text=True, check=True)
    line = json.loads(done.stdout.splitlines()[-1])
    assert line["from the host"] == 0
    assert line["programs"] <= line["of making"] + 2
