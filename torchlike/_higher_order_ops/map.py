"""``torch._higher_order_ops.map``."""

from torchlike._higher_order_ops.control_flow import map

__all__ = ["map"]
