"""Process-wide switches, and the rooms that only answer questions."""

import subprocess
import sys

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike._compat import settings
from torchlike._core import errors


def test_precision_of_float32_products():
    assert torch.get_float32_matmul_precision() == "highest"
    before = jax.config.jax_default_matmul_precision
    torch.set_float32_matmul_precision("medium")
    try:
        assert torch.get_float32_matmul_precision() == "medium"
        assert jax.config.jax_default_matmul_precision == before  # no global flag
    finally:
        torch.set_float32_matmul_precision("highest")
    with pytest.raises(ValueError, match="'most'"):
        torch.set_float32_matmul_precision("most")


def test_deterministic_algorithms():
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("between", ["", "interop_"])
def test_threads(between, monkeypatch):
    get = getattr(torch, f"get_num_{between}threads")
    ask = getattr(torch, f"set_num_{between}threads")
    monkeypatch.setattr(errors, "_given", set())
    monkeypatch.setattr(settings, "_interop_threads", None)
    torch.ones(1).sum().item()  # XLA has started
    n = torch.get_num_threads()
    ask(n)
    ask(np.int64(n))
    with pytest.warns(UserWarning, match=f"set_num_{between}threads.. changes nothing") as seen:
        ask(n + 1)
    assert seen[0].filename == __file__
    ask(n + 2)  # told once
    assert get() == (n + 2 if between else n)
    assert torch.get_num_threads() == n
    with pytest.raises(RuntimeError, match=f"set_num_{between}threads expects a positive integer"):
        ask(0)
    for wrong, name in (("2", "str"), (2.0, "float"), (True, "bool")):
        with pytest.raises(RuntimeError, match=f"threads expects an int, but got {name}"):
            ask(wrong)


@pytest.mark.exhaustive
def test_threads_asked_for_before_xla_starts():
    code = (
        "import os, torchlike as torch\n"
        "torch.set_num_threads(3)\n"
        "torch.ones(300, 300).mm(torch.ones(300, 300)).sum().item()\n"
        "print(torch.get_num_threads(), os.environ['PJRT_NPROC'])\n"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("3 3\n", "")


def test_default_tensor_type():
    torch.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert torch.ones(1).dtype is torch.float64
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.ones(1).dtype is torch.float32
    with pytest.raises(TypeError, match="only floating-point"):
        torch.set_default_tensor_type("torch.LongTensor")
    with pytest.raises(TypeError, match="invalid type object"):
        torch.set_default_tensor_type(torch.float32)


@pytest.mark.parametrize("kind", ["torch.cuda.FloatTensor", torch.cuda.DoubleTensor])
@pytest.mark.skipif(jax.default_backend() == "gpu", reason="answers of a machine without one")
def test_default_tensor_type_of_a_missing_gpu(kind):
    with pytest.raises(TypeError, match="not available"):
        torch.set_default_tensor_type(kind)
    assert torch.get_default_dtype() is torch.float32


@pytest.mark.parametrize(("mode", "warn_only"), [(1, False), (True, 1), (None, False)])
def test_determinism_is_a_bool(mode, warn_only):
    with pytest.raises(TypeError, match="must be bool, not"):
        torch.use_deterministic_algorithms(mode, warn_only=warn_only)
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="answers of a machine without one")
def test_no_accelerator():
    assert not torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() is None
    assert torch.accelerator.device_count() == torch.xpu.device_count() == 0
    assert not torch.xpu.is_available()
    with pytest.raises(RuntimeError, match="none is available"):
        torch.accelerator.set_device_index(0)


def test_compiler():
    seen = []

    @torch.jit
    def f(x):
        seen.append(torch.compiler.is_compiling())
        return x + 1

    assert torch.compiler.disable(f)(torch.ones(1)) == 2
    f(torch.ones(1))
    assert seen == [False, True]
    assert torch.compiler.allow_in_graph(len) is len


@pytest.mark.usefixtures("compiled_at_once")
def test_denormal_numbers_are_zeros_to_computations():
    """As ``set_flush_denormal`` says."""
    tiny = torch.tensor([1e-40])
    assert not torch.set_flush_denormal(False)
    assert tiny.clone().numpy()[0] > 0
    assert (tiny > 0).item() is False
    assert torch.exp(torch.tensor([-100.0])).item() == 0
