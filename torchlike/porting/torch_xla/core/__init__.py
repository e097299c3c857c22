"""``torch_xla.core``."""
