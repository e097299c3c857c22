"""``torch._higher_order_ops.while_loop``."""

from torchlike._higher_order_ops.control_flow import while_loop

__all__ = ["while_loop"]
