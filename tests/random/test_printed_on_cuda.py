"""PyTorch's CUDA numbers, as programs on GPUs have printed them (see tests/printed_on_cuda.py)."""

from __future__ import annotations

import numpy as np
import pytest
from printed_on_cuda import LARGE, PUBLISHED, Printed, count

import torchlike as torch
from torchlike.random.cuda import cards


def _check(row: Printed) -> None:
    cards.set_card(row.card)
    try:
        generator = torch.Generator(device="cuda").manual_seed(row.seed)
        generator.set_offset(row.skip)
        found = row.call(generator)
    finally:
        cards.set_card(None)
    # Four digits are printed; integers and sums are exact.
    exact = found.dtype is torch.int64 or not found.dim()
    wanted = np.array(row.numbers.split(), float)
    np.testing.assert_allclose(
        found.double().flatten().numpy(), wanted, rtol=0, atol=0 if exact else 6e-5
    )


@pytest.mark.sampled(per=lambda params: params["row"].name)
@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row.name}-{row.seed}")
def test_as_printed(row):
    _check(row)


@pytest.mark.full
@pytest.mark.parametrize("row", LARGE, ids=lambda row: row.name)
def test_tensors_larger_than_the_card(row):
    _check(row)


def test_the_table_is_what_the_documentation_says():
    assert (count(PUBLISHED), count(LARGE)) == (387, 19)
