"""Linear layers: dtypes and rounding."""

import pytest

import torchlike as torch
import torchlike.nn.functional as F


@pytest.mark.parametrize("bias", [torch.float64, torch.bfloat16, torch.int64])
def test_a_bias_of_another_dtype_is_refused(bias):
    with pytest.raises(RuntimeError, match="self and mat2 must have the same dtype"):
        F.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, dtype=bias))


def test_half_precision_is_rounded_after_the_bias(run):
    # 1 + 2**-8 is no bfloat16: rounded first it would be 1, and 2**-8 would be lost.
    x = torch.tensor([[1.0, 2.0**-8]], dtype=torch.bfloat16)
    weight, bias = torch.ones(1, 2).bfloat16(), torch.tensor([-1.0]).bfloat16()
    found = run(F.linear, x, weight, bias)
    assert found.dtype is torch.bfloat16
    assert found.item() == 2.0**-8


def test_gradients_of_half_precision():
    generator = torch.Generator().manual_seed(0)
    values = [torch.randn(shape, generator=generator) for shape in ((64, 8), (32, 8), (32,))]
    gradients = []
    for dtype in (torch.bfloat16, torch.float32):
        operands = [v.bfloat16().to(dtype).requires_grad_() for v in values]
        out = F.linear(*operands)
        out.backward(torch.ones_like(out))
        gradients.append([o.grad for o in operands])
    for half, single in zip(*gradients, strict=True):
        assert half.dtype is torch.bfloat16
        torch.testing.assert_close(half.float(), single, rtol=2**-8, atol=2**-8)
