"""``torch._higher_order_ops.scan``."""

from torchlike.control_flow import scan

__all__ = ["scan"]
