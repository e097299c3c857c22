"""``torch.testing``: comparing tensors in tests, and making them."""

from torchlike.testing.allclose import assert_allclose
from torchlike.testing.comparison import assert_close
from torchlike.testing.creation import make_tensor
from torchlike.testing.file_check import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
