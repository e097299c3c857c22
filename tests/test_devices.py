"""Devices by PyTorch's names on JAX's devices."""

import pickle

import jax
import pytest

import torchlike as torch

has_gpu = torch.cuda.is_available()


def test_spellings():
    assert str(torch.device("cuda:1")) == "cuda:1"
    assert repr(torch.device("cpu")) == "device(type='cpu')"
    assert torch.device("cuda", 1) == torch.device("cuda:1")
    assert pickle.loads(pickle.dumps(torch.device("cuda:1"))) == torch.device("cuda:1")


@pytest.mark.parametrize("text", ["foo", "cuda:x", "cuda:-1"])
def test_impossible_devices(text):
    with pytest.raises(RuntimeError, match="device"):
        torch.device(text)


@pytest.mark.skipif(has_gpu, reason="says what happens without a GPU")
@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.zeros(2, device="cuda"),
        lambda: torch.zeros(2).to("cuda"),
        lambda: torch.zeros(2).cuda(),
    ],
)
def test_cuda_without_a_gpu_names_the_backends_found(use):
    with pytest.raises(RuntimeError, match=r"JAX\s+backends found are: cpu"):
        use()


def test_tensors_know_where_they_are():
    x = torch.ones(2)
    assert x.device == torch.device("cpu")
    assert x.to("cpu") is x
    assert x.jax().devices() == {jax.devices("cpu")[0]}
    assert torch.zeros_like(x, device="cpu").is_cpu
