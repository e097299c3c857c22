"""``torch._higher_order_ops.cond``."""

from torchlike.control_flow import cond

__all__ = ["cond"]
