"""``torch._higher_order_ops.associative_scan``."""

from torchlike.control_flow import associative_scan

__all__ = ["associative_scan"]
