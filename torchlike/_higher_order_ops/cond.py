"""``torch._higher_order_ops.cond``."""

from torchlike._higher_order_ops.control_flow import cond

__all__ = ["cond"]
