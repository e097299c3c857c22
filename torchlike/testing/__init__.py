"""``torch.testing``: comparing tensors in tests."""

from torchlike.testing.comparison import assert_close

__all__ = ["assert_close"]
