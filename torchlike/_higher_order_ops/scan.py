"""``torch._higher_order_ops.scan``."""

from torchlike.ops.control_flow import scan

__all__ = ["scan"]
