"""``torch._higher_order_ops.associative_scan``."""

from torchlike._higher_order_ops.control_flow import associative_scan

__all__ = ["associative_scan"]
