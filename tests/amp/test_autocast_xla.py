"""``torch.autocast("xla")`` counts where there is a TPU, by torch_xla's lists."""

import pytest

import torchlike as torch
from torchlike._core import devices


@pytest.fixture
def tpu(monkeypatch):
    available = devices.available
    monkeypatch.setattr(
        devices, "available", lambda kind: [None] if kind == "xla" else available(kind)
    )


def results():
    x, y = torch.ones(2, 3), torch.zeros(2, dtype=torch.long)
    with torch.autocast("xla"):
        product = x @ x.mT
        return (
            product.dtype,
            torch.relu(x).dtype,
            torch.softmax(product, -1).dtype,
            torch.nn.functional.cross_entropy(product, y).dtype,
            torch.cat([product, x], 1).dtype,
            torch.exp(product).dtype,
        )


def test_it_does_nothing_without_one():
    assert results() == (torch.float32,) * 6


def test_products_are_in_16_bits_beside_one(tpu):
    low, full = torch.bfloat16, torch.float32
    assert results() == (low, low, full, full, full, low)
