"""``torch_xla.core``."""

from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.core")
