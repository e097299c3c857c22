"""``torch_xla.debug``."""
