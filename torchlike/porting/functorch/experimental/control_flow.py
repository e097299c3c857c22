"""``functorch.experimental.control_flow``: names that moved to ``torch``."""

from torchlike._higher_order_ops.cond import cond
from torchlike._higher_order_ops.map import map

__all__ = ["cond", "map"]
