"""Attention on a GPU: the numbers of PyTorch, and memory that grows linearly."""

from __future__ import annotations

import jax
import pytest

import torchlike
from torchlike.nn.functional import scaled_dot_product_attention

pytest.importorskip("torch")
import torch
from oracle import as_numpy

#: bfloat16 has 8 bits; sums are of some hundred terms.
ATOL = 3e-2


def _attend(library, device, dtype, tokens, **how):
    generator = torch.Generator().manual_seed(0)
    leaves = []
    for _ in range(3):
        x = torch.randn(2, 4, tokens, 64, generator=generator).numpy()
        x = library.from_numpy(x).to(device, getattr(library, dtype))
        leaves.append(x.requires_grad_())
    y = library.nn.functional.scaled_dot_product_attention(*leaves, **how)
    y.float().square().sum().backward()
    return [y, *(x.grad for x in leaves)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [64, 512, 1536])
def test_numbers_of_pytorch(tokens, causal, dtype, device):
    expected = _attend(torch, "cpu", "float32", tokens, is_causal=causal)
    found = _attend(torchlike, device, dtype, tokens, is_causal=causal)
    for ours, theirs in zip(found, expected, strict=True):
        a, b = as_numpy(ours), as_numpy(theirs)
        limit = 2e-5 if dtype == "float32" else ATOL
        assert abs(a - b).max() <= limit * max(1, abs(b).max())


@pytest.mark.parametrize("causal", [False, True])
def test_memory_of_long_sequences_is_linear(causal, device):
    counts = jax.devices()[0].memory_stats()
    if counts is None or counts["peak_bytes_in_use"] > 3 << 30:
        pytest.skip("the device counts no memory, or this process has held much already")

    @torchlike.jit
    def step(q, k, v):
        scaled_dot_product_attention(q, k, v, is_causal=causal).float().sum().backward()
        return q.grad

    leaves = [
        torchlike.randn(
            1, 8, 32768, 64, device=device, dtype=torchlike.bfloat16, requires_grad=True
        )
        for _ in range(3)
    ]
    assert torchlike.isfinite(step(*leaves)).all()
    # All scores of one head in bfloat16 would take 2 GB, of eight 17.
    assert jax.devices()[0].memory_stats()["peak_bytes_in_use"] < 4 << 30
