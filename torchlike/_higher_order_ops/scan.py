"""``torch._higher_order_ops.scan``."""

from torchlike._higher_order_ops.control_flow import scan

__all__ = ["scan"]
