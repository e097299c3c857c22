"""``torch.ao.nn``."""
