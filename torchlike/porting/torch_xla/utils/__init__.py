"""``torch_xla.utils``."""
