"""torchlike._ops.nn.attention.attention: against its definition, masks, shared heads."""

import math

import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F


def tensors(*shapes):
    rng = np.random.default_rng(0)
    return [torch.tensor(rng.standard_normal(s, np.float32)) for s in shapes]


def test_the_definition():
    q, k, v = tensors((2, 3, 4), (2, 5, 4), (2, 5, 6))
    weights = F.softmax(q @ k.transpose(-1, -2) / math.sqrt(4), -1)
    found = F.scaled_dot_product_attention(q, k, v)
    np.testing.assert_allclose(found.numpy(), (weights @ v).numpy(), rtol=1e-5, atol=1e-6)


def test_causal_is_the_lower_triangle():
    q, k, v = tensors((1, 4, 3), (1, 4, 3), (1, 4, 3))
    mask = torch.tensor(np.tril(np.ones((4, 4), bool)))
    a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    b = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
    np.testing.assert_allclose(a[0, 0].numpy(), v[0, 0].numpy(), rtol=1e-6)


def test_a_row_masked_whole_gives_zero_and_a_finite_gradient():
    q, k, v = tensors((2, 3), (4, 3), (4, 3))
    q.requires_grad_()
    mask = torch.tensor([[True] * 4, [False] * 4])
    out = F.scaled_dot_product_attention(q, k, v, mask)
    out.sum().backward()
    assert out[1].tolist() == [0.0, 0.0, 0.0]
    assert q.grad[1].tolist() == [0.0, 0.0, 0.0]


def test_grouped_heads_are_repeated_heads():
    q, k, v = tensors((1, 4, 3, 2), (1, 2, 5, 2), (1, 2, 5, 2))
    a = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    double = [torch.tensor(np.repeat(t.numpy(), 2, 1)) for t in (k, v)]
    np.testing.assert_allclose(a.numpy(), F.scaled_dot_product_attention(q, *double).numpy())
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        F.scaled_dot_product_attention(q, k, v)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_long_row_of_16_bit_keys_neither_overflows_nor_loses_its_gradient(dtype):
    # 2,048 undivided weights of about 1, times values of 60, are more than float16 can hold, and
    # a cotangent of 1e-3 divided by 2,048 is a subnormal number.
    q, k, v = (t.to(dtype) for t in tensors((1, 2048, 8), (1, 2048, 8), (1, 2048, 8)))
    q, k, v = q[:, :4] / 10, k / 10, v + 60
    narrow, wide = [], []
    for found, leaves in ((narrow, (q, k, v)), (wide, (q.float(), k.float(), v.float()))):
        leaves = [t.detach().requires_grad_() for t in leaves]
        out = F.scaled_dot_product_attention(*leaves)
        out.backward(torch.full_like(out, 1e-3))
        found += [out, leaves[2].grad]
    eps = torch.finfo(dtype).eps
    for a, b in zip(narrow, wide, strict=True):
        a, b = a.float().numpy(force=True), b.numpy(force=True)
        # Gradients of values are near 2e-6, which float16 holds to 6e-8.
        atol = 1e-7 if dtype is torch.float16 else 0
        np.testing.assert_allclose(a, b, rtol=2 * eps, atol=atol)


@pytest.mark.parametrize("compiled", [False, True])
def test_without_features_values_are_averaged(compiled):
    q, k, v = torch.ones(2, 0), torch.ones(3, 0), torch.tensor([[1.0], [2], [6]])
    attend = F.scaled_dot_product_attention
    assert (torch.jit(attend) if compiled else attend)(q, k, v).tolist() == [[3.0], [3.0]]
