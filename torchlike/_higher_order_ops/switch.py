"""``torch._higher_order_ops.switch``."""

from torchlike._higher_order_ops.control_flow import switch

__all__ = ["switch"]
