"""``torch._higher_order_ops.map``."""

from torchlike.control_flow import map

__all__ = ["map"]
