"""torch.utils.set_module says where a function is from."""

import pytest

import torchlike as torch


def test_set_module():
    def f():
        """Nothing."""

    torch.utils.set_module(f, "elsewhere")
    assert f.__module__ == "elsewhere"
    with pytest.raises(TypeError, match="string"):
        torch.utils.set_module(f, 3)
