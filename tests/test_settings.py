"""Process-wide switches, and the rooms that only answer questions."""

import jax
import pytest

import torchlike as torch
from torchlike._compat import settings


def test_precision_of_float32_products(monkeypatch):
    monkeypatch.setattr(settings, "_precision", None)
    if jax.default_backend() == "cpu":
        assert torch.get_float32_matmul_precision() == "highest"
    before = jax.config.jax_default_matmul_precision
    try:
        torch.set_float32_matmul_precision("medium")
        assert jax.config.jax_default_matmul_precision == "default"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        jax.config.update("jax_default_matmul_precision", before)
    with pytest.raises(ValueError, match="'most'"):
        torch.set_float32_matmul_precision("most")


def test_deterministic_algorithms():
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)
    assert not torch.are_deterministic_algorithms_enabled()


def test_threads():
    n = torch.get_num_threads()
    torch.set_num_threads(n)
    with pytest.raises(NotImplementedError, match="taskset"):
        torch.set_num_threads(n + 1)
    with pytest.raises(RuntimeError, match="positive"):
        torch.set_num_threads(0)


def test_default_tensor_type():
    torch.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert torch.ones(1).dtype is torch.float64
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.ones(1).dtype is torch.float32
    with pytest.raises(TypeError, match="only floating-point"):
        torch.set_default_tensor_type("torch.LongTensor")


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
