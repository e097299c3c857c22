"""The old names of mixed precision: each works and says what to write instead."""

import pytest

import torchlike as torch


def test_of_the_host():
    with pytest.warns(FutureWarning, match="torch.amp.autocast"):
        region = torch.cpu.amp.autocast()
    with region:
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.bfloat16
    with pytest.warns(FutureWarning, match="torch.amp.GradScaler"):
        scaler = torch.cpu.amp.GradScaler(init_scale=4.0)
    assert isinstance(scaler, torch.GradScaler)
    assert scaler.scale(torch.ones(1)).item() == 4.0
