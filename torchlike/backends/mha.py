"""``torch.backends.mha``: whether transformers' encoders may leave padding out in evaluation."""

from torchlike.nn.modules.padding_fast_path import get_fastpath_enabled, set_fastpath_enabled

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]
