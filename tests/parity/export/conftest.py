import pytest
import torch


@pytest.fixture(autouse=True)
def validation_of_distributions():
    """PyTorch's exporter switches it off in the whole process."""
    before = torch.distributions.Distribution._validate_args
    yield
    torch.distributions.Distribution.set_default_validate_args(before)
